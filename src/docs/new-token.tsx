/** Creates a random token in the browser, with script only, and puts it into all places of the page. */
export function NewToken() {
  return (
    <p class="row">
      <button type="button" class="quiet" id="new-token" hidden>
        Create a random token
      </button>
      <output></output>
    </p>
  );
}
