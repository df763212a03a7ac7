import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, INodeProperties } from 'n8n-workflow';

/** The address of a deployment and an API key. Its test is the ping, so it needs no scope. */
export class TicketWriteBackApi implements ICredentialType {
  name = 'ticketWriteBackApi';

  displayName = 'Ticket Write-Back API';

  icon = {
    light: 'file:../icons/ticketWriteBack.svg',
    dark: 'file:../icons/ticketWriteBack.dark.svg',
  } as const;

  documentationUrl = 'https://tickets.example/docs/recipes/n8n';

  properties: INodeProperties[] = [
    {
      displayName: 'Address',
      name: 'url',
      type: 'string',
      required: true,
      default: '',
      placeholder: 'https://tickets.example',
      description: 'The address of the service, without a path',
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      required: true,
      default: '',
      description: 'Without the word Bearer. An administrator creates it in the settings of the service.',
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { Authorization: '=Bearer {{$credentials.apiKey.trim()}}' } },
  };

  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.url.replace(/\\/+$/, "")}}', url: '/api/v1/ping' },
  };
}
