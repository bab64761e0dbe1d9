// Hides known secrets wherever a text quotes them: in an error, a line of the log or a record.

/** Knows secrets, and masks them in texts that operators read. */
export interface SecretMask {
  /** Adds more secrets, for example after a reload. Former ones stay masked. */
  addSecrets(secrets: readonly string[]): void
  hideIn(text: string): string
  /** Masks every text in a value of JSON. Returns the value itself if it has no secret. */
  hideInAll<Value>(value: Value): Value
}

/** The minimum length of a masked secret. Shorter values would also match ordinary words. */
const minChars = 4
/** The minimum length of a secret that is masked even inside of a word. */
const minInsideChars = 8

export function createSecretMask(secrets: readonly string[] = []): SecretMask {
  const forms = new Set<string>()
  let pattern: RegExp | undefined
  const mask: SecretMask = {
    addSecrets(newSecrets) {
      const formerCount = forms.size
      for (const form of newSecrets.flatMap(listForms)) forms.add(form)
      // A pattern of many secrets takes long to compile.
      if (forms.size > formerCount) pattern = createPattern(forms)
    },
    hideIn: text => (pattern === undefined ? text : text.replace(pattern, '(set)')),
    hideInAll: value => (pattern === undefined ? value : (hideInAll(value, mask.hideIn) as typeof value)),
  }
  mask.addSecrets(secrets)
  return mask
}

/** Tries the longest form first, so that a form inside it does not leave its remains visible. */
function createPattern(forms: ReadonlySet<string>): RegExp {
  const sortedForms = [...forms].toSorted((left, right) => right.length - left.length)
  return new RegExp(sortedForms.map(toPattern).join('|'), 'gu')
}

function toPattern(form: string): string {
  const escapedForm = escapeForm(form)
  if (form.length < minInsideChars) return `(?<![\\p{L}\\p{N}_])${escapedForm}(?![\\p{L}\\p{N}_])`
  return urlStartPattern.test(form) ? escapedForm + urlEndPattern : escapedForm
}

function escapeForm(form: string): string {
  return form.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/** Matches no longer address that begins with a secret one, because a longer address has secrets of its own. */
const urlEndPattern = String.raw`(?![\w%~#?&=+-]|[/.:@][\w%~])`
const urlStartPattern = /^[a-z][a-z0-9+.-]*(?::\/\/|%3A%2F%2F)/i

/** Lists the forms in which a text may quote a secret: as it is, in a URL, and in JSON. */
function listForms(secret: string): readonly string[] {
  const form = urlStartPattern.test(secret) && secret.endsWith('/') ? secret.slice(0, -1) : secret
  return [form, encodeURIComponent(form), JSON.stringify(form).slice(1, -1)].filter(text => text.length >= minChars)
}

function hideInAll(value: unknown, hideIn: (text: string) => string): unknown {
  if (typeof value === 'string') return hideIn(value)
  if (Array.isArray(value))
    return keepIfSame(
      value,
      value.map(item => hideInAll(item, hideIn)),
    )
  if (!isPlainObject(value)) return value
  const members = Object.entries(value)
  const maskedMembers = members.map(([, child]) => hideInAll(child, hideIn))
  const isSame = maskedMembers.every((child, index) => child === members[index]?.[1])
  return isSame ? value : Object.fromEntries(members.map(([name], index) => [name, maskedMembers[index]]))
}

function keepIfSame(items: readonly unknown[], maskedItems: readonly unknown[]): readonly unknown[] {
  return maskedItems.every((item, index) => item === items[index]) ? items : maskedItems
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
