# Sends to the service what Redmine knows: the directory, and the reviews of time entries. Run it every
# minute, and never twice at once:
#
#   * * * * *  flock -n /run/lock/redmine-send ruby send.rb
require 'securerandom'
require_relative 'redmine'

# Only an administrator's key reads all users and projects.
ADMIN = Redmine.new(ENV.fetch('REDMINE_ADMIN_KEY'))
SERVICE = Redmine.new(ENV.fetch('REDMINE_KEY'))
# The type and id of each record that was sent. The service has no call that lists them.
SENT = ENV.fetch('SENT')
MAX_RECORDS = 1_000

class CallFailed < StandardError; end

# Sends a signed message and returns the value of the answer.
def call(type, data)
  body = JSON.generate(type: type, data: { organization: ORGANIZATION['id'], **data })
  id, time = "msg_#{SecureRandom.uuid}", Time.now.to_i.to_s
  headers = { 'Content-Type' => 'application/json', 'webhook-id' => id, 'webhook-timestamp' => time,
              'webhook-signature' => sign(ENV.fetch('PSA_SECRET'), id, time, body) }
  response = Net::HTTP.post(URI("#{ENV.fetch('SERVICE_URL')}/psa"), body, headers)
  return JSON.parse(response.body)['value'] if response.code == '200'

  raise CallFailed, "#{type} got #{response.code} #{response.body}"
end

# The active part of Redmine, as the records of a directory.
def read_directory
  me = SERVICE.get('/users/current.json')['user']['id']
  projects = ADMIN.list('projects', '/projects.json?status=1')
  members = projects.flat_map { |project| ADMIN.list('memberships', "/projects/#{project['id']}/memberships.json") }
  technicians = members.select { |one| one['roles'].any? { |role| role['name'] == 'Technician' } }
                       .map { |one| one.dig('user', 'id') }
  users = ADMIN.list('users', '/users.json?status=1&sort=id').map do |user|
    { type: 'user', id: user['id'], email: user['mail'], name: "#{user['firstname']} #{user['lastname']}",
      admin: user['admin'], technician: technicians.include?(user['id']), service: user['id'] == me }
  end
  rates = projects.to_h { |project| [project['id'], rate_of(project)] }.compact
  issues = ADMIN.list('issues', '/issues.json?status_id=*&sort=id') # Those of closed projects too.
  issues.select! { |issue| projects.any? { |project| project['id'] == issue['project']['id'] } }
  owned = users.select { |user| user.values_at(:admin, :technician, :service).any? } + # The others are customers.
          projects.map { |project| { type: 'company', id: project['id'], name: project['name'] } } +
          rates.map { |id, rate| { type: 'agreement', id: "rate-#{id}", company: id.to_s, hourlyRate: rate } } +
          issues.map { |issue| { type: 'ticket', id: issue['id'], company: issue['project']['id'].to_s } }
  [{ type: 'organization', psa: true, **ORGANIZATION }] +
    owned.map { |record| { **record, organization: ORGANIZATION['id'], id: record[:id].to_s } }
end

def rate_of(project)
  field = project['custom_fields'].to_a.find { |one| one['name'] == 'Hourly rate' }
  field['value'].to_f unless field.nil? || field['value'].to_s.empty?
end

# Sends records, and returns what the service refuses; it writes the others.
def upsert(records)
  records.zip(call('directory.upsert', records: records)['records']).filter_map do |record, answer|
    "#{record[:type]} #{record[:id]}: #{answer['errors']}" if answer['status'] == 'refused'
  end
end

def save(sent)
  File.write("#{SENT}.new", JSON.generate(sent))
  File.rename("#{SENT}.new", SENT)
end

# Sends the directory, and deactivates what was sent before and is no longer there.
def send_directory
  records = read_directory
  current = records.map { |record| record.slice(:type, :id) }
  sent = File.exist?(SENT) ? JSON.parse(File.read(SENT), symbolize_names: true) : []
  gone = sent - current
  save(gone + current) # Before they are sent, because this may end at any point.
  gone.each_slice(MAX_RECORDS) { |slice| call('directory.deactivate', records: slice) }
  problems = records.each_slice(MAX_RECORDS).flat_map { |slice| upsert(slice) }
  save(current)
  problems
end

# Reports the reviews of time entries. The service then pushes their new status, with which they leave
# this list. Until then it answers with the same decision.
def send_reviews
  reviewed = "/time_entries.json?cf_#{IDS['status']}=SUBMITTED&cf_#{IDS['review']}=APPROVED%7CREJECTED"
  SERVICE.list('time_entries', reviewed).filter_map do |entry|
    fields = entry['custom_fields'].to_h { |field| [field['id'], field['value']] }
    id, decision, reviewer = fields.values_at(*IDS.values_at('writeBackId', 'review', 'reviewer'))
    call('work.review', entry: id, decision: decision, reviewer: reviewer)
    nil
  rescue CallFailed => e
    "time entry #{entry['id']}: #{e.message}"
  end
end

problems = send_directory + send_reviews
abort problems.join("\n") if problems.any?
