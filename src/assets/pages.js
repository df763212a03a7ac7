// Every page also works without this script. It inserts text only, never markup.

// The documentation is rendered before the address of the service is known.
for (const one of document.querySelectorAll('[data-origin]')) one.textContent = location.origin;
for (const one of document.querySelectorAll('[data-host]')) one.textContent = location.hostname;

const resultBeside = (button) => button.parentElement.querySelector('output');

// Copy the element that the button names, or else the code block that it is in.
for (const button of document.querySelectorAll('[data-copy]')) {
  const result = resultBeside(button);
  button.hidden = false;
  button.addEventListener('click', async () => {
    const { copy } = button.dataset;
    const source = copy ? document.getElementById(copy) : button.closest('.code').querySelector('pre');
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      result.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(source);
      result.textContent = 'Selected. Press Ctrl+C (⌘C on a Mac) to copy.';
    }
  });
}

const ping = (key) =>
  fetch('/api/v1/ping', { headers: { Authorization: `Bearer ${key}` }, credentials: 'omit', cache: 'no-store' });
const NO_RESPONSE = 'No response. Check your connection and try again.';

for (const button of document.querySelectorAll('[data-test]')) {
  const result = resultBeside(button);
  button.hidden = false;
  button.addEventListener('click', async () => {
    result.textContent = 'Testing…';
    try {
      const response = await ping(document.getElementById(button.dataset.test).textContent.trim());
      const body = await response.json();
      result.textContent = response.ok
        ? `The key works. It is “${body.keyName}” of ${body.organizationId}.`
        : `The test failed: ${response.status} ${body.title}. ${body.detail ?? ''}`;
    } catch {
      result.textContent = NO_RESPONSE;
    }
  });
}

// Try ping with a key that is typed. It stays in the field, which is emptied when the page is left.
const tryPing = document.getElementById('try-ping');
// Not over plain HTTP, which would show the key to others on the network.
if (tryPing && isSecureContext) {
  const [key, button, result] = ['input', 'button', 'output'].map((name) => tryPing.querySelector(name));
  const send = async () => {
    if (!/^[!-~]+$/.test(key.value.trim())) {
      result.textContent = 'Enter a key: letters, digits and an underscore.';
      key.focus();
      return;
    }
    result.textContent = 'Sending…';
    try {
      const response = await ping(key.value.trim());
      result.textContent = `${response.status}\n${JSON.stringify(await response.json(), null, 2)}`;
    } catch {
      result.textContent = NO_RESPONSE;
    }
  };
  tryPing.hidden = false;
  button.addEventListener('click', send);
  key.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') button.click();
  });
  addEventListener('pagehide', () => {
    key.value = '';
  });
}

// A language that is chosen for one example is chosen for all of them.
for (const tab of document.querySelectorAll('[data-choice] > input')) {
  tab.addEventListener('change', () => {
    const { choice } = tab.parentElement.dataset;
    for (const other of document.querySelectorAll(`[data-choice="${choice}"] > [value="${tab.value}"]`)) {
      other.checked = true;
    }
  });
}

// Show the date field only for “On a date”.
const expiration = document.getElementById('expiration');
if (expiration) {
  const label = document.querySelector('[data-date]');
  const date = label.querySelector('input');
  const toggleDate = () => {
    const needsDate = expiration.value === 'date';
    label.hidden = !needsDate;
    date.required = needsDate;
    if (!needsDate) date.value = '';
  };
  expiration.addEventListener('change', toggleDate);
  toggleDate();
}

// Ignore a second submit for 10 seconds: it would discard the response to the first one, and the
// new key with it. After that, the first request has probably failed.
for (const form of document.querySelectorAll('form[data-once]')) {
  let sentAt = -Infinity;
  form.addEventListener('submit', (event) => {
    if (event.timeStamp - sentAt < 10_000) event.preventDefault();
    else sentAt = event.timeStamp;
  });
}
// Reload a page that the browser restored from its back/forward cache: it may be out of date.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

// Close open menus with Escape, and with a click anywhere else.
const closeMenus = (except) => {
  for (const menu of document.querySelectorAll('.menu[open]')) if (menu !== except) menu.open = false;
};
addEventListener('click', ({ target }) => closeMenus(target.closest('.menu')));
addEventListener('keydown', ({ key, target }) => {
  if (key !== 'Escape') return;
  const menu = target.closest('.menu');
  closeMenus();
  menu?.querySelector('summary').focus();
});

// Filter the menu of organizations while typing. Submitting the form searches all of them.
const switchFilter = document.getElementById('switch');
switchFilter?.addEventListener('input', () => {
  const text = switchFilter.value.trim().toLowerCase();
  for (const link of document.querySelectorAll('.switcher nav a')) {
    link.hidden = !link.textContent.toLowerCase().includes(text);
  }
});
