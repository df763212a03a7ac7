SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  // The key a reader tries stays in this page's memory: it is not kept in the browser.
  persistAuthorization: false,
  validatorUrl: null,
});
