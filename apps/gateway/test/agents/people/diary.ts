// Records its visitors in a diary, and forgets them when it is told to.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext, ForgottenPerson } from '@postern/pipeline'

interface Entry {
  readonly said: string
  readonly person: string | undefined
  readonly thread: string
}

const diary: Entry[] = []
const forgotten: ForgottenPerson[] = []

/** Clears the diary, because gateways of other tests in this process have written to it, too. */
export function start(): void {
  diary.length = 0
  forgotten.length = 0
}

/** Records the sender. The text `what?` returns everything that the diary contains. */
export function handle({ parts, thread_id }: NormalizedMessage, { person }: AgentContext): string {
  const text = parts.map(part => (part.kind === 'text' ? part.content.trim() : '')).join('')
  if (text.startsWith('what?')) return JSON.stringify({ diary, forgotten })
  diary.push({ said: text, person: person?.id, thread: thread_id })
  return JSON.stringify({ id: person?.id, thread: thread_id })
}

/** Forgets a person and their conversations. */
export function forget(givenPerson: ForgottenPerson): void {
  forgotten.push(givenPerson)
  const storedEntries = diary.filter(
    ({ person, thread }) => person !== givenPerson.person && !givenPerson.threads.includes(thread),
  )
  diary.splice(0, diary.length, ...storedEntries)
}
