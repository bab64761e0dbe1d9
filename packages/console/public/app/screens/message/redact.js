// Removes personal data from the record of a message, so that it can be a test fixture.

const handle = /@?[\w.+-]{1,100}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g
const domain = /\b(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}\b/gi
const web = /\bhttps?:\/\/[^\s"'<>)]{1,2000}/g
/** Members that contain bytes or texts of people. */
const textMembers = new Set([
  'content',
  'raw',
  'text',
  'html',
  'preview',
  'summary',
  'subject',
  'display_name',
  'username',
  'name',
  'title',
  'message_text',
  'avatar',
  'url',
  'data',
  'arguments',
])
/** Members with texts of the gateway itself, which stay as they are. */
const gatewayMembers = new Set([
  'kind',
  'verdict',
  'state',
  'status',
  'via',
  'received_via',
  'auth_method',
  'code',
  'outcome',
  'mime',
])

/**
 * Removes personal data from the record of a message: texts become their lengths, and each address and host becomes a made-up one.
 * @param {unknown} record
 */
export function redact(record) {
  /** @type {Map<string, string>} */
  const names = new Map()
  /** @param {string} value @param {string} kind */
  const alias = (value, kind) => {
    const existingAlias = names.get(value)
    if (existingAlias) return existingAlias
    const newAlias = `${kind}-${names.size + 1}`
    names.set(value, newAlias)
    return newAlias
  }
  /** @param {string} text */
  const hide = text =>
    text
      .replace(
        web,
        url => `https://${alias(URL.canParse(url) ? new URL(url).host : url, 'host')}.example/${alias(url, 'path')}`,
      )
      .replace(handle, address => {
        const bare = address.replace(/^@/, '')
        const [name = '', host = ''] = bare.split('@')
        return `@${alias(name, 'person')}@${alias(host.toLowerCase(), 'host')}.example`
      })
      .replace(domain, host => (host.endsWith('.example') ? host : `${alias(host.toLowerCase(), 'host')}.example`))
  /** @param {unknown} value @param {string} name @returns {unknown} */
  const walk = (value, name) => {
    if (textMembers.has(name) && value !== null && value !== undefined) return `(${measure(value)} characters)`
    if (typeof value === 'string') return gatewayMembers.has(name) ? value : hide(value)
    if (Array.isArray(value)) return value.map(each => walk(each, name))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, walk(child, key)]))
    return value
  }
  return walk(record, '')
}

/** @param {unknown} value */
function measure(value) {
  return typeof value === 'string' ? value.length : JSON.stringify(value).length
}
