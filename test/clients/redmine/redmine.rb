# Redmine's REST API and the signature of messages, for send.rb and receive.ru.
require 'json'
require 'net/http'
require 'openssl'

ORGANIZATION = JSON.parse(ENV.fetch('ORGANIZATION'))
# The ids of the activity and the custom fields of time entries in this Redmine.
IDS = JSON.parse(ENV.fetch('REDMINE_IDS'))

class Redmine
  # Redmine will not do it, even if it is asked again.
  class Refused < StandardError; end

  PAGE = 100 # Redmine silently returns no more.

  def initialize(key) = @key = key

  def get(path) = JSON.parse(request('GET', path))
  def post(path, body) = request('POST', path, body)
  def put(path, body) = request('PUT', path, body)

  # All items of a list. Each page begins with the last item of the page before: if it does not, the
  # list has changed, and an item may be missing.
  def list(name, path)
    items = []
    loop do
      offset = [0, items.size - 1].max
      page = get("#{path}#{path.include?('?') ? '&' : '?'}limit=#{PAGE}&offset=#{offset}").fetch(name)
      raise "#{path} changed while it was read" if items.any? && items.last['id'] != page.first&.fetch('id')

      items = items[0...-1] + page
      return items if page.size < PAGE
    end
  end

  private

  def request(method, path, body = nil)
    url = URI(ENV.fetch('REDMINE_URL') + path)
    headers = { 'X-Redmine-API-Key' => @key, 'Content-Type' => 'application/json' }
    # Without max_retries, Net::HTTP repeats a PUT whose response was lost, which would add a second note.
    response = Net::HTTP.start(url.host, url.port, use_ssl: url.scheme == 'https', max_retries: 0) do |http|
      http.send_request(method, url.request_uri, body&.to_json, headers)
    end
    return response.body if response.is_a?(Net::HTTPSuccess)

    error = %w[400 403 404 409 410 413 422].include?(response.code) ? Refused : RuntimeError
    raise error, "#{method} #{path} got #{response.code} #{response.body.to_s[0, 500]}"
  end
end

# The signature of a message, as in Standard Webhooks 1.0.
def sign(secret, id, time, body)
  key = secret.delete_prefix('whsec_').unpack1('m')
  raise 'A secret is missing, or has less than 24 bytes.' if key.bytesize < 24

  "v1,#{[OpenSSL::HMAC.digest('SHA256', key, "#{id}.#{time}.#{body}")].pack('m0')}"
end
