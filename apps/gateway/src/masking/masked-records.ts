// Hides secrets in the gateway's own records: failed turns and deliveries, refusals and recorded fetches.
import type { TurnNote } from '@postern/pipeline'
import type { GatewayStore } from '@postern/store'
import type { SecretMask } from './secret-mask.ts'

type MaskedOperations = Pick<
  GatewayStore,
  | 'commit'
  | 'storeInterimAnswer'
  | 'note'
  | 'release'
  | 'settle'
  | 'refuse'
  | 'noteAttempt'
  | 'noteLookup'
  | 'findLookup'
>

/** The gateway’s own notes on its work, apart from messages and answers. */
interface WorkRecord {
  readonly error?: string | undefined
  readonly attempt?: unknown
  readonly notes?: readonly TurnNote[] | undefined
}

/** Wraps a store. Messages and answers reach it as they are; the gateway’s notes on its work reach it masked. */
export function maskRecords<Store extends MaskedOperations>(store: Store, mask: SecretMask): Store {
  const { hideIn, hideInAll } = mask
  const maskNotes = (notes: readonly TurnNote[]) =>
    notes.map(note =>
      note.body.error === undefined ? note : { ...note, body: { ...note.body, error: hideInAll(note.body.error) } },
    )
  const maskWork = <Work extends WorkRecord>(work: Work): Work => ({
    ...work,
    ...(work.error !== undefined && { error: hideIn(work.error) }),
    ...(work.attempt !== undefined && { attempt: hideInAll(work.attempt) }),
    ...(work.notes && { notes: maskNotes(work.notes) }),
  })
  return {
    ...store,
    commit: (turn, answer) => store.commit(turn, maskWork(answer)),
    storeInterimAnswer: (turn, answer) => store.storeInterimAnswer(turn, maskWork(answer)),
    note: (turn, notes) => store.note(turn, maskNotes(notes)),
    release: (turn, retry) => store.release(turn, maskWork(retry)),
    settle: (delivery, settlement) => store.settle(delivery, maskWork(settlement)),
    refuse: refusal => store.refuse({ ...refusal, reason: hideIn(refusal.reason) }),
    noteAttempt: (turn, attempt) => store.noteAttempt(turn, hideInAll(attempt)),
    noteLookup: lookup => store.noteLookup(hideInAll(lookup)),
    findLookup: (key, instant) => store.findLookup(hideIn(key), instant),
  }
}
