# Fills a new Redmine, as its administrator would do it in the pages: run by `rails runner`. Prints the
# keys of the people and the ids that the adapter needs, as JSON.

# Mails would be sent in a thread with a database connection of its own: SQLite then sometimes is locked.
ActiveJob::Base.queue_adapter = :inline
ActionMailer::Base.perform_deliveries = false

Setting.rest_api_enabled = '1'
Setting.login_required = '1'
Setting.notified_events = [] # No mail.

def role(name, permissions)
  Role.create!(name: name, permissions: permissions, users_visibility: 'all', issues_visibility: 'all')
end

staff = %i[view_issues add_issue_notes view_private_notes set_notes_private log_time view_time_entries]
write_back = staff + %i[edit_own_issue_notes log_time_for_other_users edit_time_entries]
roles = {
  technician: role('Technician', staff),
  reviewer: role('Reviewer', staff + %i[edit_time_entries]),
  write_back: role('Write-back', write_back),
  weak: role('Write-back without private notes', write_back - %i[set_notes_private]),
  blind: role('Write-back without a view of time', write_back - %i[view_time_entries]),
  customer: role('Customer', %i[view_issues add_issues add_issue_notes])
}

ProjectCustomField.create!(name: 'Hourly rate', field_format: 'float')
field = ->(name, format, **more) { TimeEntryCustomField.create!(name: name, field_format: format, is_filter: true, **more).id }
# Only these see and set the fields of a review.
reviewers = { visible: false, roles: roles.values_at(:reviewer, :write_back, :weak) }
ids = {
  activity: TimeEntryActivity.create!(name: 'Remote support').id,
  billable: field.('Billable', 'bool'),
  review: field.('Review', 'list', possible_values: %w[APPROVED REJECTED], **reviewers),
  reviewer: field.('Reviewer', 'user', **reviewers)
}

def user(login, first, last)
  User.new(firstname: first, lastname: last, mail: "#{login}@northwind.example", language: 'en').tap do |user|
    user.login = login
    user.password = user.password_confirmation = SecureRandom.hex
    user.save!
  end
end
people = {
  admin: User.find_by!(login: 'admin'),
  technician: user('tess', 'Tess', 'Technician'),
  customer: user('carl', 'Carl', 'Customer'),
  service: user('automation', 'Automation', 'Service')
}
people[:admin].update!(must_change_passwd: false, firstname: 'Ada', lastname: 'Admin', mail: 'ada@northwind.example')
members = { admin: :reviewer, technician: :technician, customer: :customer, service: :write_back }

# In Globex, the account that writes has a role that cannot make notes private.
[['Acme', members, 3], ['Globex', { **members, service: :weak }, 120]].each do |name, kinds, issues|
  project = Project.create!(identifier: name.downcase, name: name, is_public: false, trackers: Tracker.all,
                            enabled_module_names: %w[issue_tracking time_tracking])
  kinds.each { |person, kind| Member.create!(project: project, principal: people[person], roles: [roles[kind]]) }
  issues.times do |number|
    Issue.create!(project: project, tracker: Tracker.first, author: people[:customer],
                  priority: IssuePriority.first, subject: "#{name}: printer #{number} is on fire")
  end
end
rate = ProjectCustomField.find_by!(name: 'Hourly rate').id
Project.find('acme').update!(custom_field_values: { rate => '150' })

puts JSON.generate(
  keys: people.transform_values(&:api_key), users: people.transform_values { |person| person.id.to_s },
  roles: roles.transform_values(&:id), ids: ids, rate: rate
)
