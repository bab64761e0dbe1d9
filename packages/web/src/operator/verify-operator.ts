import type { RunAgentInput } from '@ag-ui/core'
import { Rejection } from '@postern/core'
import type { RequestHead } from '@postern/http/tokens'
import type { WebConfig } from '../config.ts'
import type { VerifyOwner } from '../verify.ts'

/** The operator who decides, proven by their bearer token alone. */
export interface WebOperator {
  /** Key of their runs. */
  readonly owner: string
  /** Their name in records. */
  readonly name: string
}

interface OperatorEndpoint {
  readonly config: Pick<WebConfig, 'operators'>
  readonly verifyOwner: VerifyOwner
  /** Issuer of configured tokens. */
  readonly origin: string
  /** The gateway's own operator token. */
  isOperatorToken(authorization: string): boolean
}

/** The gateway's operator, or an operator of the configuration. @throws Rejection unsigned, signature_invalid, expired, forbidden */
export function createVerifyOperator({ config, verifyOwner, origin, isOperatorToken }: OperatorEndpoint) {
  const named = new Set(
    config.operators.map(each => ('token' in each ? nameOf(origin, each.token) : nameOf(each.issuer, each.subject))),
  )
  return async (visit: RequestHead): Promise<WebOperator> => {
    const authorization = visit.headers.get('authorization')
    if (authorization !== null && isOperatorToken(authorization)) {
      return { owner: 'operator', name: 'operator' }
    }
    const { owner, issuer, subject } = await verifyOwner(visit)
    if (!named.has(nameOf(issuer, subject))) {
      throw new Rejection('forbidden', 'Cannot show what waits: that is for operators')
    }
    return { owner: `operator ${owner}`, name: issuer === origin ? subject : nameOf(issuer, subject) }
  }
}

function nameOf(issuer: string, subject: string): string {
  return JSON.stringify([issuer, subject])
}

/** A run of an operator, before it decides anything. */
export interface OperatorRun {
  readonly operator: WebOperator
  /** Shows only what waits for this agent. */
  readonly agent?: string | undefined
  readonly input: RunAgentInput
}
