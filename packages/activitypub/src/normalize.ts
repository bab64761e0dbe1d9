import type { Intake, Withdrawal } from '@postern/core'
import type { ResolvedDelivery } from './resolve.ts'

/** What the agents concerned are told, and what the operator is shown. Pure. */
export function normalizeDelivery(understood: ResolvedDelivery): readonly Intake[] {
  return understood === 'nothing' || 'gone' in understood ? [] : understood.kind.read(understood.resolved)
}

/** What the author takes back. An actor that is gone takes back everything. Pure. */
export function readWithdrawals(understood: ResolvedDelivery): readonly Withdrawal[] {
  if (understood === 'nothing') return []
  if ('gone' in understood) return [{ kind: 'forget_peer', peer: understood.gone }]
  return understood.kind.withdraw?.(understood.resolved) ?? []
}
