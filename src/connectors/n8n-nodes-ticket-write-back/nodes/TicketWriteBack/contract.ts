// Generated from the OpenAPI document by npm run connectors.
import type { INodeProperties } from 'n8n-workflow';

/** The path and the fields of each resource. */
export const RESOURCES = {
  "note": {
    "path": "/api/v1/tickets/{ticketId}/notes",
    "fields": [
      "message"
    ],
    "required": [
      "message"
    ]
  },
  "timeEntry": {
    "path": "/api/v1/tickets/{ticketId}/time-entries",
    "fields": [
      "minutes",
      "description",
      "billable",
      "userEmail"
    ],
    "required": [
      "minutes",
      "description",
      "billable"
    ]
  }
};

/** The form of the fields. */
export const FIELDS: INodeProperties[] = [
  {
    "displayName": "Message",
    "name": "message",
    "type": "string",
    "typeOptions": {
      "rows": 4
    },
    "required": true,
    "displayOptions": {
      "show": {
        "resource": [
          "note"
        ],
        "operation": [
          "create"
        ]
      }
    },
    "default": "",
    "description": "The text of the note: 1 to 32,000 Unicode code points, not counting leading and trailing white space. Stored exactly as sent. NUL and lone surrogates are refused."
  },
  {
    "displayName": "Minutes",
    "name": "minutes",
    "type": "number",
    "typeOptions": {
      "minValue": 1,
      "maxValue": 1440
    },
    "required": true,
    "displayOptions": {
      "show": {
        "resource": [
          "timeEntry"
        ],
        "operation": [
          "create"
        ]
      }
    },
    "default": 1,
    "description": "Minutes worked: a whole number from 1 to 1440"
  },
  {
    "displayName": "Description",
    "name": "description",
    "type": "string",
    "typeOptions": {
      "rows": 4
    },
    "required": true,
    "displayOptions": {
      "show": {
        "resource": [
          "timeEntry"
        ],
        "operation": [
          "create"
        ]
      }
    },
    "default": "",
    "description": "The work done: 1 to 32,000 Unicode code points, not counting leading and trailing white space. Stored exactly as sent. NUL and lone surrogates are refused."
  },
  {
    "displayName": "Billable",
    "name": "billable",
    "type": "boolean",
    "required": true,
    "displayOptions": {
      "show": {
        "resource": [
          "timeEntry"
        ],
        "operation": [
          "create"
        ]
      }
    },
    "default": false,
    "description": "Whether the time is billable"
  },
  {
    "displayName": "User Email",
    "name": "userEmail",
    "type": "string",
    "required": false,
    "displayOptions": {
      "show": {
        "resource": [
          "timeEntry"
        ],
        "operation": [
          "create"
        ]
      }
    },
    "default": "",
    "description": "Credits this active technician instead of the automation service account. Case is ignored, and null is as if the field were left out."
  }
];
