import type { Challenger, ScopeTable } from '@postern/http/tokens'
import { checkScope, defaultScopes } from '@postern/http/tokens'
import type { A2aConfig } from '../config.ts'
import type { Operation } from '../operations/operation.ts'
import { isObject } from '../validate/shape.ts'
import type { Call } from '../verify.ts'

export function readScopeTable({ auth }: Pick<A2aConfig, 'auth'>): ScopeTable {
  return { ...defaultScopes, ...auth.scopes }
}

/** Puts the check of the scope before every operation, so that no binding can forget it. */
export function guardOperations(
  operations: ReadonlyMap<string, Operation>,
  { table, challenger }: { readonly table: ScopeTable; readonly challenger: Challenger },
): ReadonlyMap<string, Operation> {
  const scopes: Readonly<Record<string, string>> = table
  const guarded = [...operations].map(([name, operation]): [string, Operation] => [
    name,
    async call => {
      const scope = scopes[name]
      checkScope(call.caller, scope === undefined ? [] : [scope], challenger)
      if (setsPushConfig(call)) checkScope(call.caller, [table.CreateTaskPushNotificationConfig], challenger)
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
