// Finds the secrets in a configuration, to mask them in output and in texts.
import { findSecretTexts, isSecretName } from './secret-texts.ts'
import { isUrl, replaceUrlSecrets } from './secret-urls.ts'

type Path = readonly string[]

interface SecretTree {
  /** A configuration, or a part of one. */
  readonly tree: unknown
  /** Paths whose values the configuration file took from a variable or a file. */
  readonly references?: readonly Path[] | undefined
}

interface FoundSecret {
  readonly text: string
  readonly path: Path
  /** The URL that contains the text. */
  readonly url?: string
  /** True if the name of its list or of an option marks it as a secret. */
  readonly hasSecretName?: boolean
  /** True if its value comes from a variable or a file. */
  readonly isFromReference?: boolean
  /** True if only its path or form makes it a secret, so that other texts may hold it by chance. */
  readonly hasUnknownMeaning?: boolean
}

/** Returns the text that replaces a secret. */
type ReplaceSecret = (secret: FoundSecret) => string

/** Returns a configuration as operators may see it, with `(set)` in place of each secret. */
export function maskSettings(settings: SecretTree): unknown {
  return replaceSecrets(settings, () => '(set)')
}

/**
 * Lists the secrets of a configuration that no log and no record may contain. Leaves out harmless words in hidden settings, and settings that
 * the gateway publishes.
 */
export function listSecretTexts(settings: SecretTree): readonly string[] {
  const texts = new Set<string>()
  replaceSecrets(settings, secret => {
    for (const text of listQuotableTexts(secret)) texts.add(text)
    return secret.text
  })
  return [...texts]
}

/** Lists the texts of a secret that other texts must not quote. A harmless setting has none. */
function listQuotableTexts(secret: FoundSecret): readonly string[] {
  const { text, path, url, hasSecretName = isSecretName(findSettingName(path)), hasUnknownMeaning } = secret
  const isForMcpServer = isInMcpServer(path)
  const isFromReference = secret.isFromReference || isForMcpServer
  if (isPublic(path) && !isForMcpServer) return []
  if (hasUnknownMeaning && !isFromReference && !hasSecretName) return []
  return findSecretTexts(
    url === undefined ? { text, hasSecretName, isWholeUrlSecret: true, isFromReference } : { text: url },
  )
}

/** Returns true for `…/mcp/<index>/<member>`, and for `…/mcp/<index>/env/<name>`. */
function isInMcpServer(path: Path): boolean {
  return path.at(-3) === 'mcp' || path.at(-4) === 'mcp'
}

/** Settings that the gateway publishes, and members that are parts of addresses. */
const publicSettings = new Set(['origin', 'handle_host', 'default_agent', 'listen', 'data', 'log', 'roles'])
const publicAgentSettings = new Set(['use', 'description', 'icon', 'fields', 'also_known_as'])
const publicMembers = new Set(['name', 'issuer', 'subject', 'bucket'])

function isPublic(path: Path): boolean {
  const [topLevelName = '', , agentSetting = ''] = path
  const isOfAgent = topLevelName === 'agents' && publicAgentSettings.has(agentSetting)
  return publicSettings.has(topLevelName) || isOfAgent || publicMembers.has(path.at(-1) ?? '')
}

/** Returns the name of a value, or of the list that contains it. */
function findSettingName(path: Path): string {
  return path.findLast(part => !/^\d+$/.test(part)) ?? ''
}

const secretNamePattern = /(^|[_-])(token|secret|password|key|authorization|cookie)s?$/i

/** The private members of a key (RFC 7518 §6); `oth` holds objects with such members. */
const privateJwkMembers = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'])

/** Replaces each secret of a configuration. */
function replaceSecrets({ tree, references = [] }: SecretTree, replaceSecret: ReplaceSecret): unknown {
  const referencePaths = new Set(references.map(path => path.join('\0')))
  const replaceMarked: ReplaceSecret = secret =>
    replaceSecret({ ...secret, isFromReference: referencePaths.has(secret.path.join('\0')) })
  const visit = (value: unknown, path: Path): unknown => {
    if (referencePaths.has(path.join('\0'))) return replaceAllTexts(value, path, replaceMarked)
    if (typeof value === 'string') return replaceInUrl(value, path, replaceMarked)
    if (Array.isArray(value))
      return value.map((item, index) =>
        typeof item === 'string' && isSecretArgument([...path, String(index)], value)
          ? replaceMarked({
              text: item,
              path: [...path, String(index)],
              hasSecretName: isValueOfSecretOption(item, value[index - 1]),
            })
          : visitItem(item, [...path, String(index)]),
      )
    return isObject(value) ? mapMembers(value, (child, name) => visitMember(child, [...path, name], value)) : value
  }
  // A list with the name of a secret contains secrets, or objects whose members have their own names.
  const visitItem = (item: unknown, path: Path): unknown =>
    typeof item === 'string' && secretNamePattern.test(path.at(-2) ?? '')
      ? replaceMarked({ text: item, path, hasSecretName: true })
      : visit(item, path)
  const visitMember = (child: unknown, path: Path, parent: object): unknown => {
    const name = path.at(-1) ?? ''
    if (isOpaqueMember(path))
      return replaceAllTexts(child, path, secret =>
        replaceMarked({ ...secret, hasUnknownMeaning: name === 'forwarded_props' }),
      )
    const isSecret = secretNamePattern.test(name) || (isJwk(parent) && privateJwkMembers.has(name))
    return typeof child === 'string' && isSecret
      ? replaceMarked({ text: child, path, hasSecretName: true })
      : visit(child, path)
  }
  return visit(tree, [])
}

function isJwk(value: object): boolean {
  return 'kty' in value
}

/** Returns true if the names of an object’s members do not show which of them are secrets. */
function isOpaqueMember(path: Path): boolean {
  const name = path.at(-1)
  return name === 'headers' || name === 'forwarded_props' || (name === 'env' && path.at(-3) === 'mcp')
}

/** Returns true if an argument of an MCP server may be a secret. The first argument, or the first one after `npx -y`, names a package or a script. */
function isSecretArgument(path: Path, args: readonly unknown[]): boolean {
  if (path.at(-4) !== 'mcp' || path.at(-2) !== 'args') return false
  const index = Number(path.at(-1))
  const publicCount = args[0] === '-y' || args[0] === '--yes' ? 2 : 1
  return index >= publicCount || String(args[index]).includes('=')
}

/** Returns true if an argument is the value of the option before it, as in `--token x`. */
function isValueOfSecretOption(argument: string, previousArgument: unknown): boolean {
  const isOption = (text: unknown) => typeof text === 'string' && text.startsWith('-')
  return isOption(previousArgument) && !isOption(argument) && isSecretName(String(previousArgument))
}

function replaceAllTexts(value: unknown, path: Path, replaceSecret: ReplaceSecret): unknown {
  if (typeof value === 'string') return replaceSecret({ text: value, path })
  if (Array.isArray(value))
    return value.map((item, index) => replaceAllTexts(item, [...path, String(index)], replaceSecret))
  return isObject(value)
    ? mapMembers(value, (child, name) => replaceAllTexts(child, [...path, name], replaceSecret))
    : value
}

function replaceInUrl(text: string, path: Path, replaceSecret: ReplaceSecret): string {
  return isUrl(text) ? replaceUrlSecrets(text, part => replaceSecret({ text: part, path, url: text })) : text
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function mapMembers(members: object, change: (child: unknown, name: string) => unknown): object {
  return Object.fromEntries(Object.entries(members).map(([name, child]) => [name, change(child, name)]))
}
