import { isJsonObject } from '@postern/core'
import { ErrorAnswer, refuseAnswer } from './refusals.ts'

/** The result of the one call in a request (JSON-RPC 2.0 §5). @throws Undeliverable when it is an error or missing */
export function readRpcResult({ jsonrpc, id, result, error }: Readonly<Record<string, unknown>>): unknown {
  if (jsonrpc !== '2.0') throw refuseAnswer('it is not JSON-RPC')
  if (isJsonObject(error)) throw refuseErrorCode(error.code)
  if (id !== 1 || result === undefined) throw refuseAnswer('it answers something else')
  return result
}

/** Only the code. Other text of a stranger's error is not used. */
export function refuseErrorCode(code: unknown): ErrorAnswer {
  return new ErrorAnswer(code, `error ${Number.isSafeInteger(code) ? code : 'without code'}`)
}
