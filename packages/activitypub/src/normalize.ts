import type { Intake, Withdrawal } from '@postern/core'
import type { ResolvedDelivery } from './resolve.ts'

/** The messages for the agents concerned, and the notices for the operator. Pure. */
export function normalizeDelivery(understood: ResolvedDelivery): readonly Intake[] {
  return understood === 'nothing' || 'gone' in understood ? [] : understood.kind.read(understood.resolved)
}

/** What the author withdraws. An actor that is gone withdraws everything. Pure. */
export function readWithdrawals(understood: ResolvedDelivery): readonly Withdrawal[] {
  if (understood === 'nothing') return []
  if ('gone' in understood) return [{ kind: 'forget_peer', peer: understood.gone }]
  return understood.kind.withdraw?.(understood.resolved) ?? []
}
