// Every page also works without this script. It inserts text and parts of our own pages, never other markup.

// The documentation is rendered before the address of the service is known.
for (const one of document.querySelectorAll('[data-origin]')) one.textContent = location.origin;
for (const one of document.querySelectorAll('[data-host]')) one.textContent = location.hostname;

// Examples of events have an id of their own in each view of the page; a token is created on request.
const random = (bytes) =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');
const fill = (name, text) => {
  for (const one of document.querySelectorAll(`[data-random="${name}"]`)) one.textContent = text;
};
fill('view', random(4));

// The result after the button, or else the only one beside it.
const resultBeside = (button) =>
  button.nextElementSibling?.matches('output')
    ? button.nextElementSibling
    : button.parentElement.querySelector('output');

// Show the marked tab, and the last marked chip, in a row of them that is wider than the screen.
for (const row of document.querySelectorAll('.tabs, .state-chips')) {
  const current = Array.from(row.querySelectorAll('[aria-current]')).at(-1);
  if (current?.offsetLeft + current?.offsetWidth > row.offsetLeft + row.clientWidth)
    row.scrollLeft = current.offsetLeft - row.offsetLeft - (row.clientWidth - current.offsetWidth) / 2;
}

// A limit that a link leads to is replaced by what is typed. The target is known when the page is loaded.
addEventListener('load', () => document.querySelector('input:target')?.select());

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

// A checkbox that selects all of its name, and the button beside it, which counts them.
for (const all of document.querySelectorAll('[data-all]')) {
  all.parentElement.hidden = false;
  const button = all.closest('.bulk').querySelector('button');
  const boxes = Array.from(all.form.querySelectorAll(`[name="${all.dataset.all}"]`));
  const show = () => {
    const count = boxes.filter(({ checked }) => checked).length;
    all.checked = count === boxes.length;
    all.indeterminate = count > 0 && !all.checked;
    button.disabled = count === 0;
    button.textContent = count === 0 ? 'Revoke…' : `Revoke ${count} ${count === 1 ? 'key' : 'keys'}…`;
  };
  all.addEventListener('change', () => {
    for (const one of boxes) one.checked = all.checked;
  });
  all.form.addEventListener('change', show);
  show();
}

// The selected entries of time in words, the links that select some of them, and the buttons that decide about them.
for (const selected of document.querySelectorAll('[data-selected]')) {
  const { form } = selected;
  const boxes = Array.from(form.querySelectorAll('[name="entry"]'));
  const bar = selected.closest('.decide');
  const links = Array.from(form.querySelectorAll('[data-select]'), (link) => {
    const ownText = Array.from(link.childNodes);
    return { link, ownText, isOf: (box) => link.dataset.select === 'all' || 'marked' in box.dataset };
  });
  /** Whether exactly the entries of a link are selected. */
  const isSelected = ({ isOf }) => boxes.every((box) => box.checked === isOf(box));
  // The way back to this page leads to its selection.
  const kept = history.state?.selected;
  if (kept) for (const box of boxes) box.checked = kept.includes(box.value);
  const show = () => {
    const chosen = boxes.filter((box) => box.checked);
    const sum = (name) => chosen.reduce((total, box) => total + Number(box.dataset[name]), 0);
    const format = (number, minimumFractionDigits = 0) =>
      new Intl.NumberFormat('en-GB', { minimumFractionDigits }).format(number);
    const amount = document.createElement('span');
    amount.textContent = `, ${format(sum('amount') / 100, 2)}`;
    if (chosen.length > 0)
      selected.replaceChildren(`${chosen.length}\u00a0selected, ${format(sum('minutes'))}\u00a0min`, amount);
    else selected.textContent = 'Nothing selected';
    bar.classList.toggle('chosen', chosen.length > 0);
    for (const button of bar.querySelectorAll('[name="selected"]')) button.disabled = chosen.length === 0;
    const approveAll = bar.querySelector('[name="all"]');
    if (approveAll) approveAll.disabled = chosen.length > 0;
    for (const one of links) {
      const isOn = isSelected(one);
      one.link.classList.toggle('on', isOn);
      one.link.replaceChildren(...(isOn ? ['Select none'] : one.ownText));
    }
    history.replaceState({ selected: chosen.map(({ value }) => value) }, '');
  };
  form.addEventListener('change', show);
  // Shift selects from the box before.
  let before = -1;
  for (const [at, box] of boxes.entries()) {
    box.addEventListener('click', (event) => {
      if (event.shiftKey && before >= 0)
        for (const one of boxes.slice(Math.min(before, at), Math.max(before, at))) one.checked = box.checked;
      before = at;
    });
  }
  for (const one of links) {
    one.link.addEventListener('click', (event) => {
      event.preventDefault();
      const isNone = isSelected(one);
      for (const box of boxes) box.checked = !isNone && one.isOf(box);
      show();
    });
  }
  show();
}

const newToken = document.getElementById('new-token');
if (newToken) {
  newToken.hidden = false;
  newToken.addEventListener('click', () => {
    fill('button', random(32));
    resultBeside(newToken).textContent = 'Created, and filled into this page. Keep it: the page forgets it.';
  });
}

// Files for import get the address of this service when they are downloaded.
for (const link of document.querySelectorAll('a[download="n8n.json"], a[download="apiDefinition.swagger.json"]'))
  link.addEventListener('click', async (event) => {
    if (link.href.startsWith('blob:')) return;
    event.preventDefault();
    const text = await (await fetch(link.href)).text();
    const filled = text
      .replaceAll('https://tickets.example', location.origin)
      .replaceAll('tickets.example', location.host);
    link.href = URL.createObjectURL(new Blob([filled]));
    link.click();
  });

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
      const organization = document.querySelector('.organization')?.textContent;
      result.className = response.ok ? 'works' : 'error';
      result.textContent = response.ok
        ? `The key works. It is “${body.keyName}” of ${organization}.`
        : `The test failed: ${response.status} ${body.title}. ${body.detail ?? ''}`;
    } catch {
      result.textContent = NO_RESPONSE;
    }
  });
}

// Try ping with a typed key. It stays in the field, and the field is emptied when the page is left.
const tryPing = document.getElementById('try-ping');
// Not over plain HTTP: others on the network could read the key.
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

// A date counts only with “On a date”.
for (const choice of document.querySelectorAll('[name=expires]')) {
  choice.addEventListener('change', () => {
    if (choice.value !== 'date') choice.form.elements.date.value = '';
  });
}

// Add an address to the list of a form.
for (const button of document.querySelectorAll('[data-add]')) {
  const list = document.getElementById(button.dataset.add);
  button.disabled = false;
  button.addEventListener('click', () => {
    list.value = [...list.value.split('\n').filter((line) => line.trim()), button.value].join('\n');
    list.dispatchEvent(new Event('input', { bubbles: true }));
  });
}

// Ask before the page with a new key is left, until the key was copied.
const newKey = document.getElementById('key');
if (newKey) {
  let isStored = false;
  const store = () => {
    isStored = true;
  };
  document.addEventListener('copy', store);
  document.querySelector('[data-copy=key]').addEventListener('click', store);
  document.querySelector('[data-stored]').addEventListener('submit', store);
  addEventListener('beforeunload', (event) => {
    if (!isStored) event.preventDefault();
  });
}

// The input of a form stays in this tab until the form is accepted: a draft of one administrator
// and one address. A token and a key are never kept.
function keepDrafts(drafts) {
  const forget = () => {
    for (const name of Object.keys(drafts)) if (name.startsWith('draft ')) drafts.removeItem(name);
  };
  const otherTabs = new BroadcastChannel('sign-out');
  otherTabs.addEventListener('message', forget);
  for (const link of document.querySelectorAll('[data-sign-out]')) {
    link.addEventListener('click', () => {
      forget();
      otherTabs.postMessage('');
    });
  }
  const sent = drafts.getItem('sent');
  drafts.removeItem('sent');
  if (sent && document.querySelector('[data-accepted]')) drafts.removeItem(sent);
  for (const form of document.querySelectorAll('form[data-draft]')) {
    const name = `draft ${form.dataset.draft} ${form.getAttribute('action')}`;
    const read = () => JSON.stringify(Array.from(new FormData(form)).filter(([field]) => field !== 'token'));
    const keep = () => drafts.setItem(name, read());
    const draft = drafts.getItem(name);
    // A form with submitted values is newer than the draft.
    if (form.hasAttribute('data-entered')) keep();
    else if (draft && draft !== read()) restore(form, JSON.parse(draft), () => drafts.removeItem(name));
    form.addEventListener('input', keep);
    form.addEventListener('submit', () => {
      keep();
      drafts.setItem('sent', name);
    });
  }
}

function restore(form, draft, forget) {
  for (const field of form.elements) {
    const values = draft.filter(([name]) => name === field.name).map(([, value]) => value);
    if (['checkbox', 'radio'].includes(field.type)) field.checked = values.includes(field.value);
    else if (values.length > 0) field.value = values[0];
    if (field.value !== field.defaultValue || field.checked !== field.defaultChecked)
      field.closest('details')?.setAttribute('open', '');
  }
  const [note, button] = [document.createElement('p'), document.createElement('button')];
  note.className = 'restored';
  note.setAttribute('role', 'status');
  button.type = 'button';
  button.className = 'quiet';
  button.textContent = 'Discard';
  button.addEventListener('click', () => {
    forget();
    // A reset would keep the hidden fields of the draft.
    location.reload();
  });
  note.append('What you entered before is back. ', button);
  form.prepend(note);
}
let storage;
try {
  storage = sessionStorage;
} catch {
  // The browser keeps nothing for this site.
}
if (storage) keepDrafts(storage);

/** The places that a search without results offers. */
const WITHOUT_RESULTS = ['/docs/concepts#glossary', '/docs/errors', '/docs/data#support'];

// Search the documentation for words that begin with those of the field.
const search = document.getElementById('search');
if (search) {
  const [field, count, list] = ['input', 'output', 'ul'].map((name) => search.querySelector(name));
  let index;
  const load = () => {
    index ??= fetch('/docs/search.json').then((response) => response.json());
    return index;
  };
  const show = async () => {
    const plain = (text) => ` ${text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ' ')}`;
    const places = await load();
    const words = plain(field.value).split(' ').filter(Boolean);
    const has = (...texts) => words.length > 0 && words.every((word) => plain(texts.join(' ')).includes(` ${word}`));
    const inHeading = places.filter(([, heading, , , otherWords]) => has(heading, otherWords));
    const inText = places.filter(([, ...texts]) => has(...texts));
    // A recipe is one place with many words: its text counts if its tool is named, or if nothing else is found.
    const isNear = ([address]) =>
      !address.startsWith('/docs/recipes/') || words.some((word) => plain(address).includes(` ${word}`));
    const near = inText.filter(isNear);
    const isChangelog = ([address]) => Number(address.startsWith('/docs/changelog'));
    const found = [...new Set([...inHeading, ...(near.length > 0 ? near : inText)])]
      .sort((a, b) => isChangelog(a) - isChangelog(b))
      .slice(0, 8);
    const isNothing = words.length > 0 && found.length === 0;
    const shown = isNothing ? places.filter(([address]) => WITHOUT_RESULTS.includes(address)) : found;
    const items = shown.map(([address, heading, title]) => {
      const [item, link, page] = ['li', 'a', 'span'].map((name) => document.createElement(name));
      [link.href, page.textContent] = [address, title];
      // A long code breaks at its parts.
      for (const part of heading.split(/(?<=_)/)) link.append(part, document.createElement('wbr'));
      if (heading !== title) link.append(page);
      item.append(link);
      return item;
    });
    list.replaceChildren(...items);
    count.classList.toggle('visually-hidden', !isNothing);
    const results = words.length > 0 ? `${items.length} ${items.length === 1 ? 'result' : 'results'}` : '';
    count.textContent = isNothing ? 'Nothing found. Look here:' : results;
  };
  search.hidden = false;
  // The browser has not found it while it was hidden.
  if (field.autofocus) field.focus();
  field.addEventListener('focus', load, { once: true });
  field.addEventListener('input', show);
  list.addEventListener('click', () => list.replaceChildren());
  search.addEventListener('keydown', (event) => {
    const stops = [field, ...list.querySelectorAll('a')];
    const at = stops.indexOf(document.activeElement);
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      stops[Math.min(Math.max(at + move, 0), stops.length - 1)].focus();
    } else if (event.key === 'Enter' && at === 0) {
      stops[1]?.click();
    } else if (event.key === 'Escape') {
      field.value = '';
      field.focus();
      list.replaceChildren();
    }
  });
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target.matches('input, textarea, select')) return;
    event.preventDefault();
    field.focus();
  });
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

// Continue a search of the audit log, page by page, until enough is found or the button is used.
async function continueSearch(log) {
  const progress = document.createElement('div');
  const [text, stop] = [document.createElement('span'), document.createElement('button')];
  progress.className = 'banner neutral search-progress';
  text.setAttribute('role', 'status');
  stop.className = 'quiet';
  stop.textContent = 'Stop';
  progress.append(text, stop);
  let isStopped = false;
  stop.addEventListener('click', () => {
    isStopped = true;
  });
  const nextOf = (part) => part.querySelector('[data-continue]')?.closest('.banner');
  for (let banner = nextOf(log); banner && !isStopped; banner = nextOf(log)) {
    const found = log.querySelectorAll('.log li').length;
    if (found >= 50) return progress.remove();
    text.textContent = `Searching. ${banner.querySelector('[data-continue]').textContent.trim()} ${found} found.`;
    if (!progress.isConnected) log.after(progress);
    banner.hidden = true;
    let page;
    try {
      const response = await fetch(banner.querySelector('a').href);
      page = new DOMParser().parseFromString(await response.text(), 'text/html').getElementById('log');
    } catch {
      page = undefined;
    }
    if (!page || isStopped) {
      banner.hidden = false;
      break;
    }
    banner.remove();
    // An empty last page reports that nothing was found, which is wrong after others.
    const isEmpty = page.querySelectorAll('.log li').length === 0 && !nextOf(page);
    if (isEmpty && found > 0) break;
    log.append(...page.children);
  }
  progress.remove();
}
const auditLog = document.getElementById('log');
if (auditLog) continueSearch(auditLog).catch(() => undefined);

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
const organizations = Array.from(document.querySelectorAll('.switcher [data-organization]'));
const switchFilter = document.getElementById('switch');
switchFilter?.addEventListener('input', () => {
  const text = switchFilter.value.trim().toLowerCase();
  for (const link of organizations) link.hidden = !link.querySelector('bdi').textContent.toLowerCase().includes(text);
});
