// Reads and checks the scopes of a token.

import type { AuthScheme, Challenger } from './challenges.ts'

/** The scope that each operation needs, by the names of A2A. `a2a.auth.scopes` can change the scopes. */
export const defaultScopes = {
  SendMessage: 'a2a:message.send',
  SendStreamingMessage: 'a2a:message.stream',
  GetTask: 'a2a:task.read',
  ListTasks: 'a2a:task.read',
  CancelTask: 'a2a:task.cancel',
  SubscribeToTask: 'a2a:task.resubscribe',
  CreateTaskPushNotificationConfig: 'a2a:task.push-config',
  GetTaskPushNotificationConfig: 'a2a:task.push-config',
  ListTaskPushNotificationConfigs: 'a2a:task.push-config',
  DeleteTaskPushNotificationConfig: 'a2a:task.push-config',
  GetExtendedAgentCard: 'a2a:card.extended',
} as const

export type ScopeTable = Readonly<Record<keyof typeof defaultScopes, string>>

/** A caller with the limits of their credential. `scopes` is undefined if no scope limits it. */
export interface ScopedCaller {
  readonly scopes?: ReadonlySet<string> | undefined
  /** The scheme of the credential, so that a refusal names the same one. */
  readonly scheme: AuthScheme
}

/**
 * Returns the rights of a caller by the scopes of its token. A token that names some scopes of the gateway is limited to these. A token that names none is
 * not limited, unless its issuer must name scopes (`require_scopes`). Returns undefined if no scope limits the caller.
 */
export function readGrant(
  scopes: unknown,
  { isRequired, table }: { readonly isRequired: boolean; readonly table: ScopeTable },
): ReadonlySet<string> | undefined {
  const gatewayScopes = new Set<unknown>(Object.values(table))
  const grantedScopes = new Set(listScopes(scopes).filter(scope => gatewayScopes.has(scope)))
  return grantedScopes.size > 0 || isRequired ? grantedScopes : undefined
}

/** Lists the scopes of a token. `scope` of RFC 8693 §4.2 is a text; some issuers write an array (`scp`). */
function listScopes(scopes: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(scopes) ? scopes : typeof scopes === 'string' ? scopes.split(' ') : []
  return list.filter(scope => typeof scope === 'string').slice(0, 256)
}

/** Returns true if one of these scopes allows the caller's operation. */
export function allowsAny({ scopes }: ScopedCaller, allowingScopes: readonly string[]): boolean {
  return scopes === undefined || allowingScopes.some(scope => scopes.has(scope))
}

/**
 * Checks that the caller has one of these scopes.
 * @throws CredentialRejection `forbidden`, which names the first of the scopes
 */
export function checkScope(caller: ScopedCaller, allowingScopes: readonly string[], challenger: Challenger): void {
  const [scope] = allowingScopes
  if (scope !== undefined && !allowsAny(caller, allowingScopes)) throw challenger.refuseScope(scope, caller.scheme)
}
