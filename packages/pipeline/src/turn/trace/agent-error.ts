// Describes the failure of an agent, with its location in the operator's own code.
import { resolve, sep } from 'node:path'
import type { AgentFault } from '@postern/message'

const [maxMessageChars, maxStackChars] = [1_000, 4_000] as const

/** Describes the failure of an agent for the operator, with limited length and without text that looks like a secret. */
export function describeAgentError(error: unknown): AgentFault {
  if (!(error instanceof Error)) return { name: typeof error, message: hideSecrets(String(error), maxMessageChars) }
  const stack = typeof error.stack === 'string' ? hideSecrets(error.stack, maxStackChars) : undefined
  const location = stack && findLocation(stack)
  return {
    name: nameOf(error),
    message: hideSecrets(error.message, maxMessageChars),
    ...(stack && { stack }),
    ...location,
  }
}

const nameOf = ({ name }: Error) => String(name).slice(0, 100)

/**
 * Returns an error whose message has at most 1,000 characters, for the log and the store. The message of an agent's error may be
 * as long as everything that the agent has read.
 */
export function clipError(error: unknown): unknown {
  if (!(error instanceof Error) || error.message.length <= maxMessageChars) return error
  const name = nameOf(error)
  const message = `${error.message.slice(0, maxMessageChars).toWellFormed()} …`
  return Object.assign(new Error(message), { name, stack: `${name}: ${message}` })
}

/** Matches a frame of a stack. The path of a reloaded module ends in a query. */
const framePattern = /^\s+at (?:.*\()?(?:file:\/\/)?(?<file>[^\s()?]+)(?:\?[^\s()?]*)?:(?<line>\d+):\d+\)?$/
const foreignFilePattern = /^node:|[/\\]node_modules[/\\]/

/** The folders of this program: those of the workspace, or the folder of the bundle. Authors of agents cannot fix files there. */
const ownFolders = import.meta.dirname.endsWith(['packages', 'pipeline', 'src', 'turn', 'trace'].join(sep))
  ? ['packages', 'apps/gateway/src'].map(folder => `${resolve(import.meta.dirname, '../../../../..', folder)}${sep}`)
  : [`${import.meta.dirname}${sep}`]

/** Finds the first frame that belongs neither to Node.js, nor to a library, nor to us. */
function findLocation(stack: string): Pick<AgentFault, 'file' | 'line'> | undefined {
  for (const line of stack.split('\n').slice(1)) {
    const { file, line: number } = framePattern.exec(line)?.groups ?? {}
    if (file !== undefined && !foreignFilePattern.test(file) && !isOwn(file)) return { file, line: Number(number) }
  }
  return undefined
}

function isOwn(file: string): boolean {
  return ownFolders.some(folder => file.startsWith(folder))
}

/** The patterns of keys and tokens in error messages of libraries and providers. Each pattern runs in linear time. */
const secretPatterns: readonly RegExp[] = [
  /\b(?:bearer|basic|dpop)\s+[\w.~+/=-]{8,}/gi,
  /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g,
  /\b(?:sk|pk|rk|xox[abprs]|gh[opsu]|glpat|hf|AKIA)[-_]?[\w-]{12,}/g,
  /(?<=:\/\/)[^\s/@:]{1,200}:[^\s/@]{1,200}(?=@)/g,
  /(?<=\b(?:api[-_]?key|access_token|token|secret|password|passwd|signature|sig)["']?\s?[=:]\s?["']?)[^\s"'&,;)}]{6,}/gi,
]

function hideSecrets(text: string, maxChars: number): string {
  const clippedText = text.slice(0, maxChars).toWellFormed()
  return secretPatterns.reduce((maskedText, pattern) => maskedText.replace(pattern, '[hidden]'), clippedText)
}
