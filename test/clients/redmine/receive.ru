# Writes into Redmine what the service pushes: notes as private notes, time entries as time entries of
# the technician. It stores each change in a queue and answers. Then it writes the queue into Redmine. It
# looks for a record's id before it writes the record, so a page may be sent several times. One thread
# receives and one writes, because two writers would both find nothing:
#
#   puma -e production -t 1:1 -b tcp://127.0.0.1:9292 receive.ru
require 'fileutils'
require_relative 'redmine'

# The account that writes must not be an administrator: its rights would not be those of its roles.
REDMINE = Redmine.new(ENV.fetch('REDMINE_KEY'))
MAX_COMMENT = 1024
QUEUE = ENV.fetch('QUEUE')
# Seconds, longer than any call to Redmine takes: a call that was cut off may still be running there.
PAUSE = Float(ENV.fetch('PAUSE', '30'))
# Without set_notes_private, Redmine makes a private note public and reports no error. Without the
# rights to see time entries and notes, one that is there is not found.
RIGHTS = %w[view_issues add_issue_notes set_notes_private edit_own_issue_notes
            log_time log_time_for_other_users view_time_entries edit_time_entries].freeze

def me = @me ||= REDMINE.get('/users/current.json')['user']

# Checks the roles of the account in a project. Called each time before something is written there.
def require_rights(project)
  memberships = REDMINE.get('/users/current.json?include=memberships')['user']['memberships']
  roles = memberships.select { |one| one['project']['id'] == project }.flat_map { |one| one['roles'] }
  rights = roles.flat_map { |role| REDMINE.get("/roles/#{role['id']}.json")['role']['permissions'] }
  missing = RIGHTS - rights
  raise "#{me['login']} lacks #{missing.join(', ')} in project #{project}" if missing.any?
end

# A note ends with the id of its record: Redmine has no field for it. In `pre` it shows plain text.
def mark(id) = "\n[twb:#{id}]"
def format_note(id, text) = "<pre>\n#{text.gsub(%r{<(?=/pre)}i, "<\u200B")}\n</pre>#{mark(id)}"

# Only our own notes count: anyone can write such a mark.
def find_note(issue, id)
  issue['journals'].find { |one| one['user']['id'] == me['id'] && one['notes'].to_s.end_with?(mark(id)) }
end

def issue_of(record) = REDMINE.get("/issues/#{record['ticketId']}.json?include=journals")['issue']

def add_note(record, text)
  issue = issue_of(record)
  return if find_note(issue, record['id'])

  require_rights(issue['project']['id'])
  note = { notes: format_note(record['id'], text), private_notes: true }
  REDMINE.put("/issues/#{issue['id']}.json", issue: note)
  written = find_note(issue_of(record), record['id'])
  return if written&.fetch('private_notes')

  # The role was changed since it was checked. A note without text is removed.
  REDMINE.put("/journals/#{written['id']}.json", journal: { notes: '' }) if written
  raise "note #{record['id']} on issue #{issue['id']} was not private, and is removed"
end

def redact_note(record, text)
  issue = issue_of(record)
  require_rights(issue['project']['id'])
  note = find_note(issue, record['id'])
  REDMINE.put("/journals/#{note['id']}.json", journal: { notes: format_note(record['id'], text) }) if note
end

# Compared again: Redmine ignores a filter by a field that is not used as one, and returns all entries.
def find_time_entry(entry)
  id = { 'id' => IDS['writeBackId'], 'value' => entry['id'] }
  found = REDMINE.list('time_entries', "/time_entries.json?cf_#{id['id']}=#{id['value']}")
  found.find { |one| one['custom_fields'].to_a.any? { |field| field.slice('id', 'value') == id } }
end

def add_time_entry(entry)
  text = entry['description']['text']
  add_note(entry, text) if text.size > MAX_COMMENT
  issue = issue_of(entry)
  require_rights(issue['project']['id'])
  return if find_time_entry(entry)

  fields = { 'writeBackId' => entry['id'], 'billable' => entry['billable'] ? '1' : '0',
             'rate' => entry['hourlyRate'].to_s, 'status' => entry['status'] }
  REDMINE.post('/time_entries.json', time_entry: {
    issue_id: issue['id'], user_id: entry['userId'], spent_on: entry['workDate'][0, 10], activity_id: IDS['activity'],
    hours: format('%d:%02d', *entry['minutes'].divmod(60)), # As a decimal, 7 minutes would be 0.12.
    comments: text.size > MAX_COMMENT ? "#{text[0, MAX_COMMENT - 1]}…" : text,
    custom_fields: fields.map { |name, value| { id: IDS[name], value: value } }
  })
end

def change_time_entry(entry, change)
  found = find_time_entry(entry)
  require_rights((found || issue_of(entry))['project']['id'])
  REDMINE.put("/time_entries/#{found['id']}.json", time_entry: change) if found
end

# Other actions do not concern Redmine.
def apply(change)
  note, entry = change.values_at('note', 'timeEntry')
  case change['action']
  when 'note.created' then add_note(note, note['message']['text'])
  when 'note.redacted' then redact_note(note, note['message']['text'])
  when 'time_entry.created' then add_time_entry(entry)
  when 'time_entry.approved', 'time_entry.rejected'
    change_time_entry(entry, custom_fields: [{ id: IDS['status'], value: entry['status'] }])
  when 'time_entry.redacted'
    change_time_entry(entry, comments: entry['description']['text'])
    redact_note(entry, entry['description']['text'])
  end
rescue Redmine::Refused => e
  # Kept in a file for a person to look at, so that the changes after it arrive.
  warn "change #{change['seq']}, #{change['action']}: #{e.message}"
  FileUtils.mkdir_p(ENV.fetch('REFUSED'))
  File.write(File.join(ENV.fetch('REFUSED'), "#{change['seq']}.json"), JSON.generate(change))
end

def genuine?(env, body)
  id, time, signatures = env.values_at('HTTP_WEBHOOK_ID', 'HTTP_WEBHOOK_TIMESTAMP', 'HTTP_WEBHOOK_SIGNATURE')
  return false if (Time.now.to_i - time.to_i).abs > 300

  expected = sign(ENV.fetch('WEBHOOK_SECRET'), id, time, body)
  signatures.to_s.split.any? { |signature| OpenSSL.secure_compare(signature, expected) }
end

def receive(env)
  body = env['rack.input'].read
  return 401 unless genuine?(env, body)

  message = JSON.parse(body)
  return 204 unless message['type'] == 'work.changes'
  return 410 unless message['data']['organization'] == ORGANIZATION['id'] # Another Redmine has it.

  store(message['data']['changes'])
  204
rescue StandardError => e
  warn "#{e.class}: #{e.message}"
  503 # The page is sent again.
end

# Puts each change of a record into the queue, as a file that names seq and record.
def store(changes)
  changes.each do |change|
    record = change['note'] || change['timeEntry'] or next
    file = File.join(QUEUE, format('%012d-%s-%s', change['seq'], change['action'], record['id']))
    File.write("#{file}.new", JSON.generate(change))
    File.rename("#{file}.new", "#{file}.json") # So that a file is always complete.
  end
end

# Writes the queue into Redmine, one change after the other. After an error it starts with the same one.
def work
  queued = -> { Dir[File.join(QUEUE, '*.json')].sort }
  sleep(PAUSE) if queued.call.any?
  loop do
    queued.call.each do |file|
      apply(JSON.parse(File.read(file)))
      File.delete(file)
    rescue StandardError => e
      warn "#{File.basename(file)}: #{e.class}: #{e.message}"
      break sleep(PAUSE)
    end
    sleep(0.2)
  end
end

FileUtils.mkdir_p(QUEUE)
Thread.new { work }

run ->(env) { [receive(env), {}, []] }
