// What the messages carry in `_meta.copydesk`.

import type { MetaKeys } from './protocol';

/** The keys of `_meta.copydesk`; none where there is no such object. */
export function copydeskMeta(meta: Record<string, unknown> | null | undefined): MetaKeys & { fold?: string } {
  const keys = meta?.copydesk;
  return typeof keys === 'object' && keys !== null ? keys : {};
}
