// Verifies that the caller of an operator's route is an operator.
import type { RunAgentInput } from '@ag-ui/core'
import type { RequestHead } from '@postern/http/tokens'
import { Rejection } from '@postern/message'
import type { WebConfig } from '../config.ts'
import type { VerifyOwner } from '../verify.ts'

/** The operator who decides, proven only by their bearer token. */
export interface WebOperator {
  /** The key of the operator's runs. */
  readonly owner: string
  /** The operator's name in records. */
  readonly name: string
}

interface OperatorEndpoint {
  readonly config: Pick<WebConfig, 'operators'>
  readonly verifyOwner: VerifyOwner
  /** The issuer of configured tokens. */
  readonly origin: string
  /** Returns true for the gateway's own operator token. */
  isOperatorToken(authorization: string): boolean
}

/**
 * Creates the check of operators. The check returns the gateway's operator, or an operator of the configuration.
 * @throws Rejection (the check) unsigned, signature_invalid, expired, forbidden
 */
export function createVerifyOperator({ config, verifyOwner, origin, isOperatorToken }: OperatorEndpoint) {
  const operators = new Set(
    config.operators.map(operator =>
      'token' in operator ? identityKey(origin, operator.token) : identityKey(operator.issuer, operator.subject),
    ),
  )
  return async (request: RequestHead): Promise<WebOperator> => {
    const authorization = request.headers.get('authorization')
    if (authorization !== null && isOperatorToken(authorization)) {
      return { owner: 'operator', name: 'operator' }
    }
    const { owner, issuer, subject } = await verifyOwner(request)
    if (!operators.has(identityKey(issuer, subject))) {
      throw new Rejection('forbidden', 'Cannot list approvals: only operators may see them')
    }
    return { owner: `operator ${owner}`, name: issuer === origin ? subject : identityKey(issuer, subject) }
  }
}

function identityKey(issuer: string, subject: string): string {
  return JSON.stringify([issuer, subject])
}

/** A run of an operator before any decision. */
export interface OperatorRun {
  readonly operator: WebOperator
  /** The agent to which the run is limited. Absent for all agents. */
  readonly agent?: string | undefined
  readonly input: RunAgentInput
}
