// Detects tool markup and other faults in a model's answer that no user may see.
import type { AnswerCheck, ModelAnswer } from '../spec/swarm.ts'

export interface AnswerRules {
  readonly checks: readonly AnswerCheck[]
  /** The names of the answering agent's tools. */
  readonly toolNames: ReadonlySet<string>
}

/** The maximum length of a fault, in characters. Text that is at least this far from the end is safe to send. */
export const maxFaultChars = 240

/** Matches the characters with which a fault may begin. */
export const faultStartPattern = /[<[{}`]/

/** Matches tool markup in the forms of several models. */
const markupPattern =
  /<\/?(?:\w{1,24}:)?(?:tool_?calls?|tool_?use|tool_?response|tool_?results?|function_?calls?|function_?results?|invoke(?=\s))[\s>|=]|<function=|<\/?[|｜][\w▁ -]{1,48}[|｜]>|\[\/?(?:TOOL_CALLS?|TOOL_RESULTS?|AVAILABLE_TOOLS)\]/i

/** Matches tool markup that breaks off at the end of the text. */
const markupEndPattern =
  /<\/?(?:\w{1,24}:)?(?:tool_?call|function_?call|tool_?use|invoke)\w{0,8}$|<\/?[|｜][\w▁-]{1,48}$/i

/** Matches the name of a list of calls at the beginning of the text. */
const leadingCallPattern = /^\[?(?:tool_calls?|function_calls?)\]?\s{0,9}[:=[({]/i

const spacePattern = '\\s{0,12}'
const toolNamePattern = `"(?:name|tool|tool_name|function|function_name|action|recipient_name)"${spacePattern}:${spacePattern}`
const argumentsPattern = `"(?:arguments|args|parameters|params|input|action_input|tool_input)"${spacePattern}:`

/** Matches a call of any tool in JSON. */
const jsonCallPattern = new RegExp(
  [
    `${toolNamePattern}"[^"]{1,128}"${spacePattern},[\\s\\S]{0,256}?${argumentsPattern}`,
    `${argumentsPattern}[\\s\\S]*${toolNamePattern}"`,
    `"(?:tool_calls|function_call|tool_uses)"${spacePattern}:`,
    `"function"${spacePattern}:${spacePattern}\\{${spacePattern}"name"`,
  ].join('|'),
)

/** The number of characters of an answer in which a call of any tool is searched. */
const maxInspectedChars = 4_000

const jsonStartPattern = /^\[?\s*\{/
const fencePattern = /^`{1,3}(?:\w{0,16}\s+)?/

/** A part of an answer that must not reach a user, at any position. */
interface TextFault {
  readonly position: number
  readonly description: string
}

/** Finds the first fault in `text` that one of the checks detects. */
export function findTextFault(text: string, { checks, toolNames }: AnswerRules): TextFault | undefined {
  const faults = checks.flatMap(check => {
    const position = findPosition(check, text, toolNames)
    return position < 0 ? [] : [{ position, description: descriptionsByCheck[check] }]
  })
  return faults.sort((a, b) => a.position - b.position)[0]
}

const descriptionsByCheck: Readonly<Record<AnswerCheck, string>> = {
  markup: 'tool markup in output',
  json_call: 'a tool call in output',
  braces: 'braces in output',
}

function findPosition(check: AnswerCheck, text: string, toolNames: ReadonlySet<string>): number {
  if (check === 'markup') return text.search(markupPattern)
  if (check === 'braces') return text.search(/[{}]/)
  return toolNames.size === 0 ? -1 : text.search(createToolCallPattern(toolNames))
}

/** Creates the pattern of a JSON call of one of the agent's own tools in the middle of text. Calls of other tools may be examples. */
function createToolCallPattern(toolNames: ReadonlySet<string>): RegExp {
  const names = [...toolNames].map(name => name.replace(/[^\w-]/g, '\\$&')).join('|')
  const start = `(?:\`{1,3}\\w{0,16}\\s{0,9})?(?:\\[${spacePattern})?\\{${spacePattern}`
  return new RegExp(
    `${start}${toolNamePattern}(?:\\{${spacePattern}"name"${spacePattern}:${spacePattern})?"(?:functions\\.)?(?:${names})"`,
  )
}

const callPrefixes = ['functions.', 'tool_call', 'function_call']

/** Returns true if an answer with this beginning may be a single call. Such an answer can be judged only when it is complete. */
export function mayBeCall(text: string, { checks, toolNames }: AnswerRules): boolean {
  if (checks.length === 0) return false
  const answerStart = text.trimStart().replace(fencePattern, '')
  if (answerStart === '' || /^(?:[{}\]]|\[\s*(?:[[{\]t]|$))/i.test(answerStart)) return true
  const lowerCaseStart = answerStart.toLowerCase()
  return [...callPrefixes, ...toolNames].some(
    name => answerStart.startsWith(name) || lowerCaseStart.startsWith(name) || name.startsWith(answerStart),
  )
}

/** Returns the reason why a model's answer must not reach a user, or `undefined` if it may. */
export function findAnswerFault({ content, tool_calls = [] }: ModelAnswer, rules: AnswerRules): string | undefined {
  if (tool_calls.some(({ function: calledFunction }) => !rules.toolNames.has(calledFunction.name)))
    return 'unknown tool'
  if (tool_calls.length > 0) return undefined
  if (content.trim() === '') return 'empty output'
  return findTextFault(content, rules)?.description ?? findCompleteFault(content.trim(), rules)
}

/** Finds faults that only a complete answer shows. */
function findCompleteFault(text: string, { checks, toolNames }: AnswerRules): string | undefined {
  if (checks.includes('markup') && (leadingCallPattern.test(text) || markupEndPattern.test(text)))
    return descriptionsByCheck.markup
  if (!checks.includes('json_call')) return undefined
  const textWithoutFence = text.replace(fencePattern, '')
  const isCall =
    (jsonStartPattern.test(textWithoutFence) && jsonCallPattern.test(textWithoutFence.slice(0, maxInspectedChars))) ||
    isBrokenJson(textWithoutFence) ||
    isPlainTextCall(textWithoutFence, toolNames)
  return isCall ? descriptionsByCheck.json_call : undefined
}

/** Returns true if the text begins with a bracket of JSON and its braces do not balance. */
function isBrokenJson(text: string): boolean {
  return /^(?:[{}\]]|\[\s*[{\]])/.test(text) && text.split('{').length !== text.split('}').length
}

/** Returns true if an answer is a call such as `refund(…)`, or only the name of a tool. */
function isPlainTextCall(text: string, toolNames: ReadonlySet<string>): boolean {
  const [, name = '', callArguments = ''] = /^(?:functions\.)?([\w-]{1,64})\s{0,9}([\s\S]*)$/.exec(text) ?? []
  return toolNames.has(name) && /^(?:\([\s\S]*\)|\{[\s\S]*\})?;?\s{0,9}`{0,3}$/.test(callArguments)
}
