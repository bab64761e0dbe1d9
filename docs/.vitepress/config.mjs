// Node reads the TypeScript of tools/docs itself; the bundler of this file leaves it alone.
const tools = new URL('../../tools/docs/site/config.ts', import.meta.url)
const { createSiteConfig } = await import(tools.href)

export default createSiteConfig()
