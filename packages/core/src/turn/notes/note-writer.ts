import { Rejection } from '../../format/errors.ts'
import type { TurnContext } from '../../ports/agent/turn-context.ts'
import { isoTime } from '../../ports/platform/platform.ts'
import type { AgentNote, NoteNotice, NoteSetting, StageNotice, TurnNote } from '../../ports/records/note.ts'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Turn } from '../../ports/records/work.ts'

export type NotesDeps = Pick<TurnContext, 'store' | 'platform' | 'readNote'>

export interface TurnNoteWriter {
  /** `most`: the maximum of characters; default: any number. */
  add(name: string, note: AgentNote, setting: Omit<NoteSetting, 'agent_key' | 'turn_id' | 'at'>, most?: number): void
  keep(name: string, id: string, body: TurnNote['body']): void
  flush(): Promise<void>
  /** @returns what is not written yet */
  end(): Promise<readonly TurnNote[]>
}

/** Writes notes in their order; notes that come together are one write. */
export function createTurnNoteWriter(turn: Turn, { store, platform, readNote }: NotesDeps): TurnNoteWriter {
  let waiting: TurnNote[] = []
  let written: Promise<void> | undefined
  let later: ReturnType<typeof setImmediate> | undefined
  let isEnded = false

  async function writeWaiting(): Promise<void> {
    const notes = waiting
    waiting = []
    if (notes.length > 0) await store.note(turn, notes)
  }

  function flush(): Promise<void> {
    clearImmediate(later)
    later = undefined
    if (waiting.length > 0) written = (written ?? Promise.resolve()).then(writeWaiting)
    // A caller that waits sees the error, at the end of the turn at the latest.
    written?.catch(() => undefined)
    return written ?? Promise.resolve()
  }

  function keep(name: string, id: string, body: TurnNote['body']): void {
    if (isEnded || !readNote) return
    waiting.push({ name, at: typeof body.at === 'string' ? body.at : isoTime(platform.now()), body })
    tellWatchers(turn, store, { kind: 'note', id, body })
    // An answer that follows at once is written together with it.
    later ??= setImmediate(() => void flush())
  }

  return {
    keep,
    add(name, note, setting, most = Number.POSITIVE_INFINITY) {
      if (isEnded || !readNote) return
      const now = isoTime(platform.now())
      const body = readNote(note, { agent_key: turn.agent, turn_id: formatTurnId(turn.message), at: now, ...setting })
      checkSize(body, most)
      keep(name, setting.call_id, body)
    },
    flush,
    async end() {
      isEnded = true
      clearImmediate(later)
      await written
      return waiting
    },
  }
}

export function tellWatchers(
  { message, merged = [] }: Turn,
  store: NotesDeps['store'],
  notice: NoteNotice | StageNotice,
): void {
  for (const each of [...merged, message]) store.notify(`message:${each}`, notice)
}

function checkSize(body: TurnNote['body'], most: number): void {
  if (JSON.stringify(body).length <= most) return
  throw new Rejection('too_large', `Cannot note: longer than ${most} characters`)
}
