import { Rejection } from '@postern/core'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

/** GetExtendedAgentCard (A2A §3.1.11), for all callers with credentials. */
export function createGetExtendedCard({ cards, challenger }: A2aOperationDeps): A2aOperation {
  return async ({ caller, agent }) => {
    if (!caller.isAnonymous) return cards.renderExtended(agent)
    throw challenger.refuse(new Rejection('unsigned', 'Cannot GetExtendedAgentCard: credentials are missing'), 'Bearer')
  }
}
