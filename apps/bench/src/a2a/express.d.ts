/** The little of Express that the SDK's contender uses; the package brings no types. */
declare module 'express' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Application {
    (request: IncomingMessage, response: ServerResponse): void
    use(path: string, handler: unknown): Application
  }

  const express: () => Application
  // biome-ignore lint/style/noDefaultExport: the package's own face
  export default express
}
