// Finds the secrets in a configuration, to mask them in output and in texts.
import { mapChildren } from '../tree/config-tree.ts'
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

/** A secret whose place the walk knows. */
type UnplacedSecret = Omit<FoundSecret, 'path' | 'isFromReference'>

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

/** Replaces each secret of a configuration. Parts without secrets stay the same objects. */
function replaceSecrets({ tree, references = [] }: SecretTree, replaceSecret: ReplaceSecret): unknown {
  const referencePaths = new Set(references.map(path => path.join('\0')))
  const isReference = (path: Path) => referencePaths.size > 0 && referencePaths.has(path.join('\0'))
  /** The names on the way to the visited value. */
  const path: string[] = []
  const walkBelow = (name: string, walk: () => unknown): unknown => {
    path.push(name)
    const replacedValue = walk()
    path.pop()
    return replacedValue
  }
  const replace = (secret: UnplacedSecret): string =>
    replaceSecret({ ...secret, path: [...path], isFromReference: isReference(path) })
  const replaceAll = (value: unknown, hasUnknownMeaning?: boolean): unknown => {
    if (typeof value === 'string') return replace({ text: value, ...(hasUnknownMeaning && { hasUnknownMeaning }) })
    if (typeof value !== 'object' || value === null) return value
    return mapChildren(value, (child, name) => walkBelow(name, () => replaceAll(child, hasUnknownMeaning)))
  }
  const visitItem = (item: unknown, list: readonly unknown[]): unknown => {
    if (typeof item !== 'string') return visit(item)
    if (isSecretArgument(path, list)) {
      const hasSecretName = isValueOfSecretOption(item, list[Number(path.at(-1)) - 1])
      return replace({ text: item, hasSecretName })
    }
    // A list with the name of a secret contains secrets, or objects whose members have their own names.
    return secretNamePattern.test(path.at(-2) ?? '') ? replace({ text: item, hasSecretName: true }) : visit(item)
  }
  const visitMember = (child: unknown, parent: object): unknown => {
    const name = path.at(-1) ?? ''
    if (isOpaqueMember(path)) return replaceAll(child, name === 'forwarded_props')
    const isSecret = secretNamePattern.test(name) || (isJwk(parent) && privateJwkMembers.has(name))
    return typeof child === 'string' && isSecret ? replace({ text: child, hasSecretName: true }) : visit(child)
  }
  const agentSettings = new Map<unknown, unknown>()
  const visit = (value: unknown): unknown => {
    if (isReference(path)) return replaceAll(value)
    if (typeof value === 'string') return replaceInUrl(value, replace)
    if (typeof value !== 'object' || value === null) return value
    // Agents may share one object. No secret in it depends on the name of the agent, unless there are references.
    const isSharedByAgents = referencePaths.size === 0 && path.length === 2 && path[0] === 'agents'
    if (!isSharedByAgents) return visitChildren(value)
    if (!agentSettings.has(value)) agentSettings.set(value, visitChildren(value))
    return agentSettings.get(value)
  }
  const visitChildren = (value: object): unknown =>
    Array.isArray(value)
      ? mapChildren(value, (item, name) => walkBelow(name, () => visitItem(item, value)))
      : mapChildren(value, (child, name) => walkBelow(name, () => visitMember(child, value)))
  return visit(tree)
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

function replaceInUrl(text: string, replace: (secret: UnplacedSecret) => string): string {
  return isUrl(text) ? replaceUrlSecrets(text, part => replace({ text: part, url: text })) : text
}
