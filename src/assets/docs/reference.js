// The reference page: Swagger UI in a layout that fits into the page around it.
const frame = ({ React }) => ({
  components: {
    Frame({ getComponent, specSelectors }) {
      const parts = specSelectors.specStr() ? ['errors', 'AuthorizeBtnContainer', 'operations'] : ['errors'];
      return React.createElement(
        'div',
        { className: 'swagger-ui' },
        React.createElement(getComponent('SvgAssets')),
        parts.map((name) => React.createElement(getComponent(name, true), { key: name })),
      );
    },
  },
});

/** Where the library is hard to use without good eyes: elements, an attribute, and the value it should have (null: none). */
const REPAIRS = [
  ['.close-modal', 'aria-label', 'Close'],
  ['.auth-btn-wrapper .button', 'aria-label', null],
  ['.examples-select-element', 'aria-label', 'Example'],
  ['.content-type', 'aria-label', 'Media type'],
  ['.body-param__text', 'aria-label', 'Body'],
  ['.json-schema-2020-12-accordion:has(> :first-child:empty)', 'aria-label', 'Fields'],
  ['.responses-table', 'role', null],
];

function repair() {
  for (const [selector, attribute, value] of REPAIRS) {
    for (const element of document.querySelectorAll(selector)) {
      if (value === null) element.removeAttribute(attribute);
      else element.setAttribute(attribute, value);
    }
  }
}

new MutationObserver(repair).observe(document.getElementById('reference'), { childList: true, subtree: true });

SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#reference',
  layout: 'Frame',
  plugins: [frame],
  // It would put a link into the button that opens an operation, which no keyboard reaches.
  deepLinking: false,
  // The key a reader tries stays in this page's memory: it is not kept in the browser.
  persistAuthorization: false,
  syntaxHighlight: false,
  validatorUrl: null,
});
