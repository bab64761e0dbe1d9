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
/** The maximum length of a question, characters, and the maximum number of lines of a question without a text. */
const maxQuestionChars = 8_000
const maxLines = 32

/** Formats the question for people; undefined values and identifiers are left out. */
export function formatQuestion({ message, interruptValue, call, reason }: QuestionSource): string {
  const sentences = [
    message,
    describeValue(interruptValue),
    call && describeCall(call),
    isSentence(reason) ? reason : undefined,
  ]
  const question = sentences.find(text => text != null && text.trim() !== '') ?? defaultQuestion
  return question.slice(0, maxQuestionChars).toWellFormed()
}

/** Returns true if the reason is a sentence. A name is a single word, such as `langgraph:interrupt` and `tool_call`. */
function isSentence(reason: string | null | undefined): reason is string {
  return typeof reason === 'string' && reason.trim().includes(' ')
}

/** Members that contain text for people, the best first. */
const textMembers = ['message', 'question', 'prompt', 'description', 'text', 'title', 'query', 'instructions'] as const
/** Members that are only for programs. */
const hiddenMembers = /^(ns|when|resumable|type|reason|schema|.*schema|.*id)$/i

function describeValue(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return joinTexts(value.map(item => (Array.isArray(item) ? undefined : describeValue(item))))
  if (!isJsonObject(value)) return undefined
  const memberText = textMembers.map(name => value[name]).find(text => typeof text === 'string' && text.trim() !== '')
  if (typeof memberText === 'string') return memberText
  // These are the requests of LangChain's HumanInTheLoopMiddleware.
  if (Array.isArray(value.action_requests)) return joinTexts(value.action_requests.map(describeRequest))
  return listMembers(value)
}

function describeRequest(request: unknown): string | undefined {
  if (!isJsonObject(request)) return undefined
  const { description, name, args } = request
  if (typeof description === 'string' && description.trim() !== '') return description
  return typeof name === 'string' ? describeCall({ name, args }) : undefined
}

function describeCall({ name, args }: NonNullable<QuestionSource['call']>): string {
  const members = isJsonObject(args) ? listMembers(args) : undefined
  return [`May the agent call \`${name}\`?`, ...(members ? [members] : [])].join('\n\n')
}

function listMembers(value: { readonly [name: string]: unknown }): string | undefined {
  const lines = Object.entries(value)
    .filter(([name, member]) => !hiddenMembers.test(name) && member !== null && member !== undefined)
    .slice(0, maxLines)
    .map(([name, member]) => `- ${name}: ${typeof member === 'string' ? member : JSON.stringify(member as Json)}`)
  return lines.length > 0 ? lines.join('\n') : undefined
}

function joinTexts(texts: readonly (string | undefined)[]): string | undefined {
  return texts.filter(Boolean).slice(0, maxLines).join('\n\n') || undefined
}
