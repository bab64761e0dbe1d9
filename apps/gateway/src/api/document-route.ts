import { z } from 'zod'
import { softwareVersion } from '../platform/version.ts'
import { describeOperations } from './openapi.ts'
import type { OperatorRoute } from './operation.ts'
import { defineOperation, handleOperation, operatorBase } from './operation.ts'

export const readDocument = defineOperation({
  id: 'readDocument',
  method: 'GET',
  path: '/openapi.json',
  summary: 'Describes these operations (OpenAPI 3.1).',
  task: 'describe operations',
  answer: z.looseObject({ openapi: z.string() }),
})

/** The OpenAPI document of all operations, itself among them; written when it is first asked for. */
export function createDocumentRoute(routes: readonly OperatorRoute[]): OperatorRoute {
  let document: ReturnType<typeof describeOperations> | undefined
  return handleOperation(readDocument, async () => {
    const operations = [...routes.map(({ operation }) => operation), readDocument]
    document ??= describeOperations(operations, { version: softwareVersion, base: operatorBase })
    return { ...document }
  })
}
