// Finds the parts of a hidden value that are secrets, so that its harmless words stay readable in other texts.
import { isUrl, replaceUrlSecrets } from './secret-urls.ts'

interface HiddenValue {
  readonly text: string
  /** True if its name marks it as a secret, regardless of its form. */
  readonly isNamed?: boolean | undefined
  /** True if the whole URL is hidden, and not only its user, password and query. */
  readonly isWhole?: boolean | undefined
  /** True if its value comes from a variable or a file, or goes to an MCP server, so that it is a secret as a whole. */
  readonly isReferenced?: boolean | undefined
}

/** Lists the secrets in a value of the configuration. */
export function findSecretTexts({ text: givenText, isNamed = false, ...hidden }: HiddenValue): readonly string[] {
  const text = givenText.trim()
  if (!isLoneUrl(text)) {
    const wholeValues = isNamed ? listNamed(text) : hidden.isReferenced ? listReferenced(text) : []
    return [...wholeValues, ...findLikely(text)]
  }
  const isSecretAsItStands = isNamed || (hidden.isReferenced && hasMoreThanHost(text))
  return [
    ...(isSecretAsItStands ? [text, URL.parse(text)?.href ?? text] : []),
    ...(hidden.isWhole ? findInPath(text) : []),
    ...findInUrl(text),
  ]
}

function isLoneUrl(text: string): boolean {
  return isUrl(text) && !/\s/.test(text)
}

const secretName =
  /(?:token|secret|passw(?:or)?d|passphrase|pwd|key|authorization|auth|cookie|credential|signature|sig)s?$/i

/** Returns true if the name of a header, variable, option or parameter marks its value as a secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name)
}

const scheme = /^(?:basic|bearer|token)\s+/i
const pemBoundary = /^-+[A-Z ]+-+$/

function listNamed(text: string): readonly string[] {
  const lines = text.includes('\n') ? text.split(/\r?\n/).filter(line => !pemBoundary.test(line)) : []
  return [text, decode(text), text.replace(scheme, ''), ...lines]
}

/** Values that say nothing, although they stand in a variable. Every log and every answer has such words. */
const harmless =
  /^(?:true|false|null|none|auto|default|enabled|disabled|trace|debug|info|warn|warning|error|fatal|silent|production|development|staging|test|stdio|https?|json|text|utf-?8|localhost)$/i

/** Lists a value as it stands, and the value of an option such as `--pass=x`. The name of an option is no secret. */
function listReferenced(text: string): readonly string[] {
  const [, optionValue] = /^--?[\w.-]+=(.*)$/s.exec(text) ?? []
  const values = optionValue === undefined ? [text].filter(value => !/^--?[a-z][\w-]*$/i.test(value)) : [optionValue]
  return values.filter(value => !harmless.test(value)).flatMap(value => [value, decode(value)])
}

/** Divides a text into words, and `--name=value`, `name:value` and queries into their values. */
function findLikely(text: string): readonly string[] {
  const candidates = [text, ...text.split(/[\s"'`<>(){}[\],;]+/)].filter(word => !/\s/.test(word))
  return [...new Set(candidates)].flatMap(word => {
    const [, url] = /(?:^|=)([a-z][a-z0-9+.-]*:\/\/.*)$/i.exec(word) ?? []
    return [...[word].filter(isLikelySecret), ...(url === undefined ? findInParameters(word) : findInUrl(url))]
  })
}

function findInParameters(text: string): readonly string[] {
  return [...text.matchAll(/(?:^|[&?])-{0,2}([a-z][\w.-]*)[=:]([^&]+)/gi)].flatMap(([, name = '', value = '']) =>
    [value, decode(value)].filter(variant => isSecretName(name) || isLikelySecret(variant)),
  )
}

function findInUrl(url: string): readonly string[] {
  const secrets: string[] = []
  replaceUrlSecrets(url, (part, kind) => {
    if (kind === 'password') secrets.push(part, decode(part))
    if (kind === 'user') secrets.push(`//${part}@`, ...findInUser(part))
    if (kind === 'query') secrets.push(...findInParameters(part), ...[part].filter(isLikelySecret))
    return part
  })
  return secrets
}

/** Finds secrets in the user of a URL. A user name alone is a secret only by its form. */
function findInUser(user: string): readonly string[] {
  const colonIndex = user.indexOf(':')
  const password = user.slice(colonIndex + 1)
  return colonIndex < 0 ? [user].filter(isLikelySecret) : [password, decode(password)]
}

/** The minimum length of a segment that may be a secret. A shorter segment of a path is an ordinary word. */
const minSegmentChars = 16

/** Finds the opaque segments in the path of an address. The name of a database is not a secret. */
function findInPath(url: string): readonly string[] {
  const segments = /^(?:http|ws)s?:/i.test(url) ? (URL.parse(url)?.pathname.split('/') ?? []) : []
  return segments
    .filter(segment => segment.length >= minSegmentChars)
    .flatMap(segment => [segment, decode(segment)])
    .filter(isLikelySecret)
}

/** Returns true if a URL has more than a host. A host alone occurs in every address of that host. */
function hasMoreThanHost(url: string): boolean {
  return !/^[^/]*\/\/[^/?#@]*\/?$/.test(url)
}

const minSecretChars = 12
const minOpaqueChars = 8
const hostName = /^(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?$/

/** Returns true if a text looks random. Words, paths and names of words, media types, dates, versions and hosts do not. */
export function isLikelySecret(text: string): boolean {
  if (text.length < minSecretChars || hostName.test(text)) return false
  const opaqueWords = text.split(/[^\p{L}\p{N}]+/u).filter(part => !isPlain(part))
  return opaqueWords.join('').length >= minOpaqueChars
}

function isPlain(word: string): boolean {
  if (word.length <= 3) return true
  if (/^\p{L}+$/u.test(word)) return word.length < 16 || isWord(word)
  return /^(?:v?\d{1,15}\p{L}{0,3}|\p{L}{3,15}\d{1,4})$/u.test(word)
}

/** The maximum length of a word, characters. Random text changes often between capitals and small letters. */
const maxWordChars = 20

function isWord(letters: string): boolean {
  const humps = letters.match(/\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{L}/gu) ?? []
  return letters.length / humps.length >= 4 && humps.every(hump => hump.length <= maxWordChars)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
