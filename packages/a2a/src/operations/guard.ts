import { isJsonObject } from '@postern/core'
import type { Challenger, ScopeTable } from '@postern/http/tokens'
import { checkScope } from '@postern/http/tokens'
import type { Call } from '../endpoint/call.ts'
import type { A2aOperation } from './operation.ts'

/** Checks the scope before every operation, so that no binding can forget it. */
export function guardOperations(
  operations: ReadonlyMap<string, A2aOperation>,
  { table, challenger }: { readonly table: ScopeTable; readonly challenger: Challenger },
): ReadonlyMap<string, A2aOperation> {
  const scopes: Readonly<Record<string, string>> = table
  const guarded = [...operations].map(([name, operation]): [string, A2aOperation] => [
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

/** A message with a push configuration needs the scope of that operation, too. */
function setsPushConfig({ params }: Pick<Call, 'params'>): boolean {
  const configuration = isJsonObject(params) ? params.configuration : undefined
  return isJsonObject(configuration) && isJsonObject(configuration.taskPushNotificationConfig)
}
