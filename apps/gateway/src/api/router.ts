import type { MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import type { OperatorRoute } from './operation.ts'
import { operatorBase } from './operation.ts'
import { readOperationRequest } from './read-request.ts'

/** Every operation behind one check of who asks. @throws Error when two operations have one id or one place */
export function createOperationRouter(routes: readonly OperatorRoute[], authenticate: MiddlewareHandler): Hono {
  const router = new Hono().basePath(operatorBase).use(authenticate)
  const taken = new Set<string>()
  for (const { operation, run } of routes) {
    const { id, method, path } = operation
    for (const name of [id, `${method} ${path}`]) {
      if (taken.has(name)) throw new Error(`Cannot open the operator's API: two operations are "${name}"`)
      taken.add(name)
    }
    router.on(method, path.replace(/\{(\w+)\}/g, ':$1'), async context => {
      const answer = await run(await readOperationRequest(operation, context))
      return answer instanceof Response ? answer : context.json(answer as object)
    })
  }
  return router
}
