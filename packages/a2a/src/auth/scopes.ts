import type { A2aConfig } from '../config.ts'
import type { Operation } from '../operations/operation.ts'
import type { Caller } from '../principal.ts'
import { isObject } from '../validate/shape.ts'
import type { Call } from '../verify.ts'
import type { Challenger } from './challenge.ts'

/** What a token has to allow for each operation; the names can be changed by `a2a.auth.scopes`. */
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

export type ScopeTable = Readonly<Record<string, string>>

export function readScopeTable({ auth }: Pick<A2aConfig, 'auth'>): ScopeTable {
  return { ...defaultScopes, ...auth.scopes }
}

/**
 * What a caller may do, by the scopes of its token. A token that names any of ours is held to those it names; one that names none
 * is not limited by scopes, unless its issuer has to give them (`require_scopes`). Undefined: no limit.
 */
export function readGrant(
  named: unknown,
  { isRequired, table }: { readonly isRequired: boolean; readonly table: ScopeTable },
): ReadonlySet<string> | undefined {
  const ours = new Set(Object.values(table))
  const granted = new Set(listScopes(named).filter(scope => ours.has(scope)))
  return granted.size > 0 || isRequired ? granted : undefined
}

/** `scope` of RFC 8693 §4.2, a text; some issuers write an array (`scp`). */
function listScopes(named: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(named) ? named : typeof named === 'string' ? named.split(' ') : []
  return list.filter(scope => typeof scope === 'string').slice(0, 256)
}

/** Puts the check of the scope before every operation, so that no binding can forget it. */
export function guardOperations(
  operations: ReadonlyMap<string, Operation>,
  { table, challenger }: { readonly table: ScopeTable; readonly challenger: Challenger },
): ReadonlyMap<string, Operation> {
  const guarded = [...operations].map(([name, operation]): [string, Operation] => [
    name,
    async call => {
      checkScope(call.caller, table[name], challenger)
      if (setsPushConfig(call)) checkScope(call.caller, table.CreateTaskPushNotificationConfig, challenger)
      return operation(call)
    },
  ])
  return new Map(guarded)
}

/** A message that brings one along does what the operation of its own does. */
function setsPushConfig({ params }: Pick<Call, 'params'>): boolean {
  const configuration = isObject(params) ? params.configuration : undefined
  return isObject(configuration) && isObject(configuration.taskPushNotificationConfig)
}

/** @throws CredentialRejection `forbidden` */
export function checkScope({ scopes, scheme }: Caller, scope: string | undefined, challenger: Challenger): void {
  if (scopes === undefined || scope === undefined || scopes.has(scope)) return
  throw challenger.refuseScope(scope, scheme)
}
