// Stores the notes of a running turn in order, and notifies the turn's watchers of them.
import { isoTime, Rejection, toWellFormed } from '@postern/message'
import type { AgentNote, NoteContext, NoteNotice, StageNotice, TurnNote } from '../../ports/records/note.ts'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'

export type NotesDeps = Pick<TurnContext, 'store' | 'system' | 'readNote'>

export interface TurnNoteWriter {
  /** Formats and adds a note. `maxChars` is the maximum length; default: any length. */
  add(
    name: string,
    note: AgentNote,
    noteContext: Omit<NoteContext, 'agent_key' | 'turn_id' | 'at'>,
    maxChars?: number,
  ): void
  /** Adds a formatted note. `id` is the id under which watchers of the turn receive it and a chat shows it. */
  addFormatted(name: string, id: string, body: TurnNote['body']): void
  flush(): Promise<void>
  /** Ends the writing. @returns the notes that are not written yet */
  end(): Promise<readonly TurnNote[]>
}

/** Creates a writer that stores notes in order. Notes that arrive together are stored with one write. */
export function createTurnNoteWriter(turn: Turn, { store, system, readNote }: NotesDeps): TurnNoteWriter {
  let waitingNotes: TurnNote[] = []
  let lastWrite: Promise<void> | undefined
  let scheduledFlush: ReturnType<typeof setImmediate> | undefined
  let isEnded = false

  async function writeWaiting(): Promise<void> {
    const notes = waitingNotes
    waitingNotes = []
    if (notes.length > 0) await store.note(turn, notes)
  }

  function flush(): Promise<void> {
    clearImmediate(scheduledFlush)
    scheduledFlush = undefined
    if (waitingNotes.length > 0) lastWrite = (lastWrite ?? Promise.resolve()).then(writeWaiting)
    // The caller sees the error when it waits, at the latest at the end of the turn.
    lastWrite?.catch(() => undefined)
    return lastWrite ?? Promise.resolve()
  }

  function addFormatted(name: string, id: string, body: TurnNote['body']): void {
    if (isEnded || !readNote) return
    const storedBody = { ...body, message_id: id }
    waitingNotes.push({ name, at: typeof body.at === 'string' ? body.at : isoTime(system.now()), body: storedBody })
    notifyWatchers(turn, store, { kind: 'note', id, body })
    // The delay lets an answer that follows at once be written together with the note.
    scheduledFlush ??= setImmediate(() => void flush())
  }

  return {
    addFormatted,
    add(name, note, noteContext, maxChars = Number.POSITIVE_INFINITY) {
      if (isEnded || !readNote) return
      const now = isoTime(system.now())
      const body = readNote(toWellFormed(note), {
        agent_key: turn.agent,
        turn_id: formatTurnId(turn.message),
        at: now,
        ...noteContext,
      })
      checkSize(body, maxChars)
      addFormatted(name, noteContext.call_id, body)
    },
    flush,
    async end() {
      isEnded = true
      clearImmediate(scheduledFlush)
      await lastWrite
      return waitingNotes
    },
  }
}

export function notifyWatchers(
  { message, merged = [] }: Turn,
  store: NotesDeps['store'],
  notice: NoteNotice | StageNotice,
): void {
  for (const number of [...merged, message]) store.notify(`message:${number}`, notice)
}

function checkSize(body: TurnNote['body'], maxChars: number): void {
  if (JSON.stringify(body).length <= maxChars) return
  throw new Rejection('too_large', `Cannot note: longer than ${maxChars} characters`)
}
