// What the pages do better with script; without it they do the rest. Nothing here writes markup.

const result = document.getElementById('result');
const say = (text) => {
  if (result) result.textContent = text;
};

for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      say('Copied');
    } catch {
      getSelection().selectAllChildren(source);
      say('Press Ctrl+C (on a Mac ⌘C) to copy the selected key.');
    }
  });
}

for (const button of document.querySelectorAll('[data-test]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    say('Asking…');
    const key = document.getElementById(button.dataset.test).textContent.trim();
    try {
      const response = await fetch('/api/v1/ping', {
        headers: { Authorization: `Bearer ${key}` },
        credentials: 'omit',
      });
      const answer = await response.json();
      if (response.ok) say(`It works: ping answers as “${answer.keyName}” of ${answer.organizationId}.`);
      else say(`Ping answers ${response.status} ${answer.title}. ${answer.detail ?? ''}`);
    } catch {
      say('No answer. Check the connection and try again.');
    }
  });
}

// The date is asked for only where it counts.
const expiration = document.getElementById('expiration');
if (expiration) {
  const label = document.querySelector('[data-date]');
  const date = label.querySelector('input');
  const follow = () => {
    const wanted = expiration.value === 'date';
    label.hidden = !wanted;
    date.required = wanted;
    if (!wanted) date.value = '';
  };
  expiration.addEventListener('change', follow);
  follow();
}

// A second click would lose the answer to the first, and with it the key. Later it may be that no answer came.
for (const form of document.querySelectorAll('form[data-once]')) {
  let sentAt = -Infinity;
  form.addEventListener('submit', (event) => {
    if (event.timeStamp - sentAt < 10_000) event.preventDefault();
    else sentAt = event.timeStamp;
  });
}
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
