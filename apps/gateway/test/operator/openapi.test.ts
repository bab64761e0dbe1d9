import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import type { OperatorGateway } from '../setup/operator-gateway.ts'
import { openCalledGateway } from './called-gateway.ts'
import type { OperationCall } from './operation-calls.ts'
import { listOperationCalls } from './operation-calls.ts'

interface ResponseDescription {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
}

interface DescribedOperation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: 'path' | 'query' }[]
  readonly responses: Readonly<Record<string, ResponseDescription>>
}

interface Operation extends DescribedOperation {
  readonly method: string
  readonly path: string
}

let setup: OperatorGateway
let calls: readonly OperationCall[]
let document: { readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>> }
let operations: readonly Operation[]

beforeAll(async () => {
  const calledGateway = await openCalledGateway()
  ;({ setup } = calledGateway)
  calls = listOperationCalls(calledGateway.records)
  document = await setup.swarm.requestOperator('/openapi.json')
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ method: method.toUpperCase(), path, ...described })),
  )
})
afterAll(() => setup?.close())

function callOperation(
  { method, path }: Operation,
  { parameters = {}, query = {}, body }: OperationCall,
): Promise<Response> {
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''))
  const search = new URLSearchParams(query)
  return fetch(`${setup.swarm.gateway.url()}/operator/api${filledPath}?${search}`, {
    method,
    headers: { authorization: `Bearer ${operatorToken}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

/** Returns the fault of an answer according to the schema of the document. */
async function findFault({ responses }: Operation, answer: Response): Promise<unknown> {
  const type = answer.headers.get('content-type')?.split(';')[0] ?? ''
  const schema = responses[answer.status]?.content?.[type]?.schema
  if (!schema) return `${answer.status} ${type} is not declared: ${await answer.text()}`
  if (type === 'text/event-stream') return answer.body?.cancel()
  const validator = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  validator.addSchema({ ...document, $id: 'https://agents.test/openapi.json' })
  const text = JSON.stringify(schema).replaceAll('"#/', '"https://agents.test/openapi.json#/')
  const value: unknown = await answer.json()
  return validator.validate(JSON.parse(text), value) ? undefined : { errors: validator.errors, value }
}

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never)
  expect({ valid, errors }).toMatchObject({ valid: true })
})

test('each operation answers calls with its declared parameters as documented, and succeeds at least once', {
  timeout: 120_000,
}, async () => {
  const faults: unknown[] = []
  const succeeded = new Set<string>()
  for (const call of calls) {
    const operation = operations.find(({ operationId }) => operationId === call.id)
    // Operations of dev mode are not in the document.
    if (!operation && /[Ss]imulation/.test(call.id)) continue
    if (!operation) throw new Error(`there is no operation ${call.id}`)
    const response = await callOperation(operation, call)
    const { status } = response
    const fault = await findFault(operation, response)
    if (fault !== undefined || status !== (call.status ?? 200)) faults.push({ id: call.id, status, fault })
    else if (response.ok) succeeded.add(call.id)
  }
  const neverSucceeded = operations.map(({ operationId }) => operationId).filter(id => !succeeded.has(id))
  expect({ faults, neverSucceeded }).toEqual({ faults: [], neverSucceeded: [] })
})

test('the test calls every operation and sends every query parameter', () => {
  const listSentParameters = (id: string) =>
    new Set(calls.filter(call => call.id === id).flatMap(({ query = {} }) => Object.keys(query)))
  const uncalledOperations = operations.flatMap(({ operationId, parameters }) => {
    const names = listSentParameters(operationId)
    const missingNames = parameters
      .filter(parameter => parameter.in === 'query' && !names.has(parameter.name))
      .map(({ name }) => name)
    const isCalled = calls.some(({ id }) => id === operationId)
    return isCalled && missingNames.length === 0 ? [] : [{ operationId, isCalled, missingNames: missingNames }]
  })
  expect(uncalledOperations).toEqual([])
})

test('every operation refuses undeclared parameters and callers without the token', async () => {
  const callStates = await Promise.all(
    operations.map(async operation => {
      const parameters = Object.fromEntries(operation.parameters.map(({ name }) => [name, 'x']))
      const call = calls.find(({ id }) => id === operation.operationId) ?? { id: '', parameters }
      const oddResponse = await callOperation(operation, { ...call, query: { ...call.query, unheard_of: '1' } })
      const { detail } = (await oddResponse.json()) as { detail: string }
      const path = operation.path.replace(/\{\w+\}/g, 'x')
      const init = { method: operation.method }
      const stranger = await fetch(`${setup.swarm.gateway.url()}/operator/api${path}`, init)
      return [
        operation.operationId,
        oddResponse.status,
        detail.includes('there is no parameter "unheard_of"'),
        stranger.status,
      ]
    }),
  )
  expect(callStates).toEqual(operations.map(({ operationId }) => [operationId, 400, true, 401]))
})
