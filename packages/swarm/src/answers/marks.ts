// Detects tool markup and other faults in a model's answer that no user may see.
import type { AnswerCheck, ModelAnswer } from '../spec/swarm.ts'

export interface AnswerRules {
  readonly checks: readonly AnswerCheck[]
  /** The names of the answering agent's tools. */
  readonly toolNames: ReadonlySet<string>
}

/** The maximum length of a mark, characters. Text that is at least this far from the end is safe to send. */
export const maxMarkChars = 240

/** Matches the characters with which a mark may begin. */
export const markStarts = /[<[{}`]/

/** Matches tool markup in the forms of several models. */
const markup =
  /<\/?(?:\w{1,24}:)?(?:tool_?calls?|tool_?use|tool_?response|tool_?results?|function_?calls?|function_?results?|invoke(?=\s))[\s>|=]|<function=|<\/?[|｜][\w▁ -]{1,48}[|｜]>|\[\/?(?:TOOL_CALLS?|TOOL_RESULTS?|AVAILABLE_TOOLS)\]/i

/** Matches the same markup if the text ends in the middle of it. */
const markupEnd = /<\/?(?:\w{1,24}:)?(?:tool_?call|function_?call|tool_?use|invoke)\w{0,8}$|<\/?[|｜][\w▁-]{1,48}$/i

const tokens = /^\[?(?:tool_calls?|function_calls?)\]?\s{0,9}[:=[({]/i

const spacePattern = '\\s{0,12}'
const toolNamePattern = `"(?:name|tool|tool_name|function|function_name|action|recipient_name)"${spacePattern}:${spacePattern}`
const argumentsPattern = `"(?:arguments|args|parameters|params|input|action_input|tool_input)"${spacePattern}:`

/** Matches a call of any tool in JSON. */
const anyCall = new RegExp(
  [
    `${toolNamePattern}"[^"]{1,128}"${spacePattern},[\\s\\S]{0,256}?${argumentsPattern}`,
    `${argumentsPattern}[\\s\\S]*${toolNamePattern}"`,
    `"(?:tool_calls|function_call|tool_uses)"${spacePattern}:`,
    `"function"${spacePattern}:${spacePattern}\\{${spacePattern}"name"`,
  ].join('|'),
)

/** The number of characters of an answer that are searched for a call of any tool. */
const maxInspectedChars = 4_000

const jsonStart = /^\[?\s*\{/
const fencePattern = /^`{1,3}(?:\w{0,16}\s+)?/

/** A fault that must not reach a user, wherever it is in an answer. `at` is its position. */
interface Mark {
  readonly at: number
  readonly fault: string
}

/** Finds the first mark in `text` that the checks look for. Pure. */
export function findMark(text: string, { checks, toolNames }: AnswerRules): Mark | undefined {
  const faults = checks.flatMap(check => {
    const position = findPosition(check, text, toolNames)
    return position < 0 ? [] : [{ at: position, fault: faultOf[check] }]
  })
  return faults.sort((a, b) => a.at - b.at)[0]
}

const faultOf: Readonly<Record<AnswerCheck, string>> = {
  markup: 'tool markup in output',
  json_call: 'a tool call in output',
  braces: 'braces in output',
}

function findPosition(check: AnswerCheck, text: string, toolNames: ReadonlySet<string>): number {
  if (check === 'markup') return text.search(markup)
  if (check === 'braces') return text.search(/[{}]/)
  return toolNames.size === 0 ? -1 : text.search(toolCallPattern(toolNames))
}

/** Matches a JSON call in the middle of text, but only of the agent's own tools, because others may be examples. */
function toolCallPattern(toolNames: ReadonlySet<string>): RegExp {
  const names = [...toolNames].map(name => name.replace(/[^\w-]/g, '\\$&')).join('|')
  const start = `(?:\`{1,3}\\w{0,16}\\s{0,9})?(?:\\[${spacePattern})?\\{${spacePattern}`
  return new RegExp(
    `${start}${toolNamePattern}(?:\\{${spacePattern}"name"${spacePattern}:${spacePattern})?"(?:functions\\.)?(?:${names})"`,
  )
}

const callStarts = ['functions.', 'tool_call', 'function_call']

/** Returns true if an answer with this beginning may be a single call, so that it must be held back until its end. Pure. */
export function isOpenBeginning(text: string, { checks, toolNames }: AnswerRules): boolean {
  if (checks.length === 0) return false
  const answerStart = text.trimStart().replace(fencePattern, '')
  if (answerStart === '' || /^(?:[{}\]]|\[\s*(?:[[{\]t]|$))/i.test(answerStart)) return true
  const lowerCaseStart = answerStart.toLowerCase()
  return [...callStarts, ...toolNames].some(
    name => answerStart.startsWith(name) || lowerCaseStart.startsWith(name) || name.startsWith(answerStart),
  )
}

/** Returns the reason why a model's answer must not reach a user; `undefined` if it may. Pure. */
export function findAnswerFault({ content, tool_calls = [] }: ModelAnswer, rules: AnswerRules): string | undefined {
  if (tool_calls.some(({ function: calledFunction }) => !rules.toolNames.has(calledFunction.name)))
    return 'unknown tool'
  if (tool_calls.length > 0) return undefined
  if (content.trim() === '') return 'empty output'
  return findMark(content, rules)?.fault ?? findCompleteFault(content.trim(), rules)
}

/** Finds faults that only a complete answer shows. */
function findCompleteFault(text: string, { checks, toolNames }: AnswerRules): string | undefined {
  if (checks.includes('markup') && (tokens.test(text) || markupEnd.test(text))) return faultOf.markup
  if (!checks.includes('json_call')) return undefined
  const textWithoutFence = text.replace(fencePattern, '')
  const isCall =
    (jsonStart.test(textWithoutFence) && anyCall.test(textWithoutFence.slice(0, maxInspectedChars))) ||
    isBrokenJson(textWithoutFence) ||
    isSpokenCall(textWithoutFence, toolNames)
  return isCall ? faultOf.json_call : undefined
}

/** Returns true if the text begins with a bracket of JSON and its braces do not balance. */
function isBrokenJson(text: string): boolean {
  return /^(?:[{}\]]|\[\s*[{\]])/.test(text) && text.split('{').length !== text.split('}').length
}

/** Returns true if an answer is a call such as `refund(…)`, or only the name of a tool. */
function isSpokenCall(text: string, toolNames: ReadonlySet<string>): boolean {
  const [, name = '', callArguments = ''] = /^(?:functions\.)?([\w-]{1,64})\s{0,9}([\s\S]*)$/.exec(text) ?? []
  return toolNames.has(name) && /^(?:\([\s\S]*\)|\{[\s\S]*\})?;?\s{0,9}`{0,3}$/.test(callArguments)
}
