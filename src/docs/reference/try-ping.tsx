/**
 * Sends a ping from the page, with script only. The key is a value of this field and nothing else:
 * there is no form that could be sent or remembered.
 */
export function TryPing() {
  return (
    <div class="card try" id="try-ping" hidden>
      <label for="ping-key">Try it with a key</label>
      <div class="row">
        <input id="ping-key" type="password" autocomplete="off" spellcheck={false} aria-describedby="ping-help" />
        <button type="button">Send ping</button>
      </div>
      <p class="help" id="ping-help">
        The key is sent to this service only, and not stored.
      </p>
      <output class="response"></output>
    </div>
  );
}
