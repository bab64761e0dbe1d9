import { isoTime, type Platform, Rejection } from '@postern/core'
import type { RecordStore } from '../../store/record-store.ts'

/** Takes a run's id for this owner permanently, so that a repeated post does not run twice. @throws Rejection replayed */
export async function claimRun(
  records: RecordStore,
  platform: Pick<Platform, 'now'>,
  run: { owner: string; run_id: string },
): Promise<void> {
  const place = { kind: 'run', owner: run.owner, key: run.run_id }
  const isFirst = await records.insert(place, isoTime(platform.now()))
  if (!isFirst) throw new Rejection('replayed', 'Cannot run: this run_id was used already')
}

/** What a channel knows of a message from outside. */
interface ExternalMessage {
  readonly connector_id: string
  readonly external_provider: string
  readonly external_message_id: string
  readonly from_self: boolean
  readonly text: string
}

type ExternalVerdict = 'take' | 'silent_skip' | 'duplicate'

/** Ignores own echoes and empty events. It takes a message once while its id is remembered. */
export async function screenExternalMessage(
  records: RecordStore,
  platform: Pick<Platform, 'now'>,
  message: ExternalMessage & { readonly owner: string; readonly ttlMs: number },
): Promise<ExternalVerdict> {
  const { owner, connector_id, external_provider, external_message_id, ttlMs } = message
  if (message.from_self || message.text.trim() === '') return 'silent_skip'
  const place = {
    kind: 'external-message',
    owner,
    key: JSON.stringify([connector_id, external_provider, external_message_id]),
  }
  const now = platform.now()
  if (await records.insert(place, now)) return 'take'
  const seen = await records.get(place)
  const isForgotten = typeof seen?.value === 'number' && seen.value + ttlMs <= now
  return seen && isForgotten && (await records.swap(place, seen.version, now)) ? 'take' : 'duplicate'
}
