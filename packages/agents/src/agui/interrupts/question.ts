// Describes a server's question for people, in the server's own text if there is any. Identifiers are not shown.
import type { Json } from '@postern/message'
import { isJsonObject } from '@postern/message'

/** The members in which a server may state its question. */
export interface QuestionSource {
  readonly message?: string | null | undefined
  /** The value of the interrupt itself, or metadata about it. */
  readonly interruptValue?: unknown
  readonly call?: { readonly name: string; readonly args: unknown } | undefined
  readonly reason?: string | null | undefined
}

const defaultQuestion = 'The agent waits for your answer.'
/** The maximum length of a question, characters, and the maximum number of lines that describe a value. */
const maxQuestionChars = 8_000
const maxLines = 32

/** Formats the question for people; undefined values and identifiers are left out. */
export function formatQuestion({ message, interruptValue, call, reason }: QuestionSource): string {
  const sentences = [
    message,
    findText(interruptValue),
    // The members of a value do not replace the call that they belong to.
    joinTexts([call && describeCall(call), describeMembers(interruptValue)]),
    isSentence(reason) ? reason : undefined,
  ]
  const question = sentences.find(text => text != null && text.trim() !== '') ?? defaultQuestion
  const isTooLong = question.length > maxQuestionChars
  return (isTooLong ? `${question.slice(0, maxQuestionChars - 1)}…` : question).toWellFormed()
}

/** Returns true if the reason is a sentence. A name is a single word, such as `langgraph:interrupt` and `tool_call`. */
function isSentence(reason: string | null | undefined): reason is string {
  return typeof reason === 'string' && reason.trim().includes(' ')
}

/** Members that contain text for people, the best first. */
const textMembers = ['message', 'question', 'prompt', 'description', 'text', 'title', 'query', 'instructions'] as const
/** Members of a value that are only for programs. The arguments of a call have none: whoever approves the call sees all of them. */
const hiddenMemberPattern = /^(id|interrupt_id|tool_call_id|toolCallId|ns|when|resumable|.*schema)$/i

/** Finds the server's own text in a value, or the calls that it wants reviewed. */
function findText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return joinTexts(value.map(describeItem))
  if (!isJsonObject(value)) return undefined
  const memberText = textMembers.map(name => value[name]).find(text => typeof text === 'string' && text.trim() !== '')
  if (typeof memberText === 'string') return memberText
  // These are the requests of LangChain's HumanInTheLoopMiddleware.
  return Array.isArray(value.action_requests) ? joinTexts(value.action_requests.map(describeRequest)) : undefined
}

function describeItem(item: unknown): string | undefined {
  return Array.isArray(item) ? undefined : (findText(item) ?? describeMembers(item))
}

function describeMembers(value: unknown): string | undefined {
  if (!isJsonObject(value)) return undefined
  return listMembers(withoutHiddenMembers(value)).slice(0, maxLines).join('\n') || undefined
}

function withoutHiddenMembers(value: { readonly [name: string]: unknown }) {
  return Object.fromEntries(
    Object.entries(value).filter(([name, member]) => !hiddenMemberPattern.test(name) && member !== null),
  )
}

function describeRequest(request: unknown): string | undefined {
  if (!isJsonObject(request)) return undefined
  const { description, name, args } = request
  if (typeof description === 'string' && description.trim() !== '') return description
  return typeof name === 'string' ? describeCall({ name, args }) : undefined
}

/** Describes a call with all its arguments, because a person decides on them. */
function describeCall({ name, args }: NonNullable<QuestionSource['call']>): string {
  const question = `May the agent call \`${name}\`?`
  const lines = isJsonObject(args) ? listMembers(args) : args == null ? [] : [formatMember(args)]
  return lines.length > 0 ? `${question}\n\n${lines.join('\n')}` : question
}

function listMembers(value: { readonly [name: string]: unknown }): string[] {
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `- ${name}: ${formatMember(member)}`)
}

function formatMember(member: unknown): string {
  return typeof member === 'string' ? member : JSON.stringify(member as Json)
}

function joinTexts(texts: readonly (string | undefined)[]): string | undefined {
  return texts.filter(Boolean).slice(0, maxLines).join('\n\n') || undefined
}
