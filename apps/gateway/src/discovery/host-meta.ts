import { escapeHtml } from '@postern/core'

/**
 * Where WebFinger is (RFC 6415). Mastodon asks for it when WebFinger itself answers 404 on the domain of a handle, Akkoma
 * and Pleroma ask for it first.
 */
export function renderHostMeta(origin: string): string {
  const template = escapeHtml(`${origin}/.well-known/webfinger?resource={uri}`)
  return `<?xml version="1.0" encoding="UTF-8"?>
<XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">
  <Link rel="lrdd" template="${template}"/>
</XRD>
`
}
