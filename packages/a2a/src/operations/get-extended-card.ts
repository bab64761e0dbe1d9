import { Rejection } from '@postern/core'
import type { Operation, OperationDeps } from './operation.ts'

/** GetExtendedAgentCard (A2A §3.1.11): for everybody but those who prove nothing. */
export function createGetExtendedCard({ cards, challenger }: OperationDeps): Operation {
  return async ({ caller, agent }) => {
    if (!caller.isAnonymous) return cards.renderExtended(agent)
    throw challenger.refuse(new Rejection('unsigned', 'Cannot GetExtendedAgentCard: credentials are missing'), 'Bearer')
  }
}
