// Finds the parts of a hidden value that are secrets, so that its harmless words stay readable in other texts.
import { isUrl, replaceUrlSecrets } from './secret-urls.ts'

interface SettingValue {
  readonly text: string
  /** True if its name marks it as a secret, regardless of its form. */
  readonly hasSecretName?: boolean | undefined
  /** True if the whole URL is hidden, and not only its user, password and query. */
  readonly isWholeUrlSecret?: boolean | undefined
  /** True if its value comes from a variable or a file, or goes to an MCP server, so that it is a secret as a whole. */
  readonly isFromReference?: boolean | undefined
}

/** Lists the secrets in a value of the configuration. */
export function findSecretTexts({
  text: untrimmedText,
  hasSecretName: isNamed = false,
  ...origin
}: SettingValue): readonly string[] {
  const text = untrimmedText.trim()
  if (!isLoneUrl(text)) {
    const wholeValues = isNamed ? listNamedSecrets(text) : origin.isFromReference ? listReferencedSecrets(text) : []
    return [...wholeValues, ...findLikelySecrets(text)]
  }
  const isSecretAsItStands = isNamed || (origin.isFromReference && hasMoreThanHost(text))
  return [
    ...(isSecretAsItStands ? [text, URL.parse(text)?.href ?? text] : []),
    ...(origin.isWholeUrlSecret ? findInPath(text) : []),
    ...findInUrl(text),
  ]
}

function isLoneUrl(text: string): boolean {
  return isUrl(text) && !/\s/.test(text)
}

const secretNamePattern =
  /(?:token|secret|passw(?:or)?d|passphrase|pwd|key|authorization|auth|cookie|credential|signature|sig)s?$/i

/** Returns true if the name of a header, variable, option or parameter marks its value as a secret. */
export function isSecretName(name: string): boolean {
  return secretNamePattern.test(name)
}

const schemePattern = /^(?:basic|bearer|token)\s+/i
const pemBoundary = /^-+[A-Z ]+-+$/

function listNamedSecrets(text: string): readonly string[] {
  const lines = text.includes('\n') ? text.split(/\r?\n/).filter(line => !pemBoundary.test(line)) : []
  return [text, decodeIfValid(text), text.replace(schemePattern, ''), ...lines]
}

/** Values that say nothing, although they stand in a variable. Every log and every answer has such words. */
const harmlessPattern =
  /^(?:true|false|null|none|auto|default|enabled|disabled|trace|debug|info|warn|warning|error|fatal|silent|production|development|staging|test|stdio|https?|json|text|utf-?8|localhost)$/i

/** Lists a value as it stands, and the value of an option such as `--pass=x`. The name of an option is no secret. */
function listReferencedSecrets(text: string): readonly string[] {
  const [, optionValue] = /^--?[\w.-]+=(.*)$/s.exec(text) ?? []
  const values = optionValue === undefined ? [text].filter(value => !/^--?[a-z][\w-]*$/i.test(value)) : [optionValue]
  return values.filter(value => !harmlessPattern.test(value)).flatMap(value => [value, decodeIfValid(value)])
}

/** Divides a text into words, and `--name=value`, `name:value` and queries into their values. */
function findLikelySecrets(text: string): readonly string[] {
  const candidates = [text, ...text.split(/[\s"'`<>(){}[\],;]+/)].filter(word => !/\s/.test(word))
  return [...new Set(candidates)].flatMap(word => {
    const [, url] = /(?:^|=)([a-z][a-z0-9+.-]*:\/\/.*)$/i.exec(word) ?? []
    return [...[word].filter(isLikelySecret), ...(url === undefined ? findInParameters(word) : findInUrl(url))]
  })
}

function findInParameters(text: string): readonly string[] {
  return [...text.matchAll(/(?:^|[&?])-{0,2}([a-z][\w.-]*)[=:]([^&]+)/gi)].flatMap(([, name = '', value = '']) =>
    [value, decodeIfValid(value)].filter(variant => isSecretName(name) || isLikelySecret(variant)),
  )
}

function findInUrl(url: string): readonly string[] {
  const secrets: string[] = []
  replaceUrlSecrets(url, (part, kind) => {
    if (kind === 'password') secrets.push(part, decodeIfValid(part))
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
  return colonIndex < 0 ? [user].filter(isLikelySecret) : [password, decodeIfValid(password)]
}

/** The minimum length of a segment that may be a secret. A shorter segment of a path is an ordinary word. */
const minSegmentChars = 16

/** Finds the opaque segments in the path of an address. The name of a database is not a secret. */
function findInPath(url: string): readonly string[] {
  const segments = /^(?:http|ws)s?:/i.test(url) ? (URL.parse(url)?.pathname.split('/') ?? []) : []
  return segments
    .filter(segment => segment.length >= minSegmentChars)
    .flatMap(segment => [segment, decodeIfValid(segment)])
    .filter(isLikelySecret)
}

/** Returns true if a URL has more than a host. A host alone occurs in every address of that host. */
function hasMoreThanHost(url: string): boolean {
  return !/^[^/]*\/\/[^/?#@]*\/?$/.test(url)
}

const minSecretChars = 12
const minOpaqueChars = 8
const hostNamePattern = /^(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?$/

/** Returns true if a text looks random. Words, paths and names of words, media types, dates, versions and hosts do not. */
export function isLikelySecret(text: string): boolean {
  if (text.length < minSecretChars || hostNamePattern.test(text)) return false
  const opaqueWords = text.split(/[^\p{L}\p{N}]+/u).filter(part => !isPlainWord(part))
  return opaqueWords.join('').length >= minOpaqueChars
}

function isPlainWord(word: string): boolean {
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

function decodeIfValid(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
