// Builds the documentation site into docs/.vitepress/dist (`npm run docs`). `-- --open` serves it and follows changes; `-- --preview` serves the
// built site.
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build, createServer, serve } from 'vitepress'

const docs = fileURLToPath(new URL('../../../docs', import.meta.url))
const { values } = parseArgs({
  options: { open: { type: 'boolean', default: false }, preview: { type: 'boolean', default: false } },
})

if (values.open) {
  const server = await createServer(docs, { open: true })
  await server.listen()
  server.printUrls()
} else if (values.preview) await serve({ root: docs })
else await build(docs)
