// The reference page: Swagger UI, reduced to the parts that this page needs.
const layoutPlugin = ({ React }) => ({
  components: {
    ReferenceLayout({ getComponent, specSelectors }) {
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

/** Accessibility fixes for Swagger UI: selector, attribute, value (null removes the attribute). */
const ACCESSIBILITY_FIXES = [
  ['.close-modal', 'aria-label', 'Close'],
  ['.auth-btn-wrapper .button', 'aria-label', null],
  ['.examples-select-element', 'aria-label', 'Example'],
  ['.content-type', 'aria-label', 'Media type'],
  ['.body-param__text', 'aria-label', 'Body'],
  ['.json-schema-2020-12-accordion:has(> :first-child:empty)', 'aria-label', 'Fields'],
  ['.responses-table', 'role', null],
];

function applyFixes() {
  for (const [selector, attribute, value] of ACCESSIBILITY_FIXES) {
    for (const element of document.querySelectorAll(selector)) {
      if (value === null) element.removeAttribute(attribute);
      else element.setAttribute(attribute, value);
    }
  }
}

new MutationObserver(applyFixes).observe(document.getElementById('reference'), { childList: true, subtree: true });

SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#reference',
  layout: 'ReferenceLayout',
  plugins: [layoutPlugin],
  // Deep linking puts a link inside the button that opens an operation. The keyboard cannot reach
  // such a link.
  deepLinking: false,
  // Keep the key in the page's memory only, not in the browser's storage.
  persistAuthorization: false,
  syntaxHighlight: false,
  validatorUrl: null,
});
